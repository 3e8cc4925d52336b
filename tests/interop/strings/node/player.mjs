// SPDX-License-Identifier: Apache-2.0
// player.mjs PORT FOLDER: redlock on ioredis, in the words of drive.py. FOLDER has node_modules.
import { createRequire } from "node:module";
import readline from "node:readline";

const require = createRequire(process.argv[3] + "/");
const { Redis } = require("ioredis");
const Redlock = require("redlock").default;

const redis = new Redis({ host: "127.0.0.1", port: Number(process.argv[2]) });
// No automatic extension: that is for us to ask for.
const redlock = new Redlock([redis], { automaticExtensionThreshold: 0 });
const locks = new Map();

redlock.on("error", () => {}); // a lock that is taken, among others

const refused = (error) => {
  if (error.name !== "ExecutionError") throw error;
  return null;
};
const take = (name, ttl, wait) => redlock.acquire([name], ttl, { retryCount: wait ? -1 : 0 }).catch(refused);

async function countUp(name, key, ttl, until) {
  let n = 0;
  for (; Date.now() < until; n++) {
    const lock = await take(name, ttl, true);
    await redis.set(key, Number((await redis.get(key)) ?? 0) + 1);
    await lock.release();
  }
  return n;
}

async function act([verb, name, ...word]) {
  if (verb === "take") {
    const lock = await take(name, Number(word[0]), word[1] !== "0");
    if (lock) locks.set(name, lock);
    return lock ? "ok" : "busy";
  }
  if (verb === "give") {
    const lock = locks.get(name);
    locks.delete(name);
    return (await lock.release().catch(refused)) ? "ok" : "lost";
  }
  if (verb === "extend") {
    const lock = await locks.get(name).extend(Number(word[0])).catch(refused);
    if (lock) locks.set(name, lock);
    return lock ? "ok" : "lost";
  }
  const until = Date.now() + Number(word[3]);
  const crew = Array.from({ length: Number(word[2]) }, () => countUp(name, word[0], Number(word[1]), until));
  return `ok ${(await Promise.all(crew)).reduce((a, b) => a + b)}`;
}

console.log("ok");
for await (const line of readline.createInterface({ input: process.stdin }))
  console.log(await act(line.split(" ")));
process.exit(0);
