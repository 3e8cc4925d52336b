// SPDX-License-Identifier: Apache-2.0
// peer.mjs PORT TTL_MS: redlock on ioredis, by the protocol of docs/benchmarks.md. With default options an
// attempt gives up after some tries; it is then made again.
import { createRequire } from "node:module";
import readline from "node:readline";

const require = createRequire(process.argv[4] + "/");
const { Redis } = require("ioredis");
const Redlock = require("redlock").default;

const redis = new Redis({ host: "127.0.0.1", port: Number(process.argv[2]) });
const redlock = new Redlock([redis]);
const ttl = Number(process.argv[3]);
const now = () => process.hrtime.bigint();

redlock.on("error", () => {}); // a lock that is taken, among others

async function take(name) {
  for (;;) {
    try {
      return await redlock.acquire([name], ttl);
    } catch (error) {
      if (error.name !== "ExecutionError") throw error;
    }
  }
}

async function work(name, end, stamps) {
  let count = 0;
  for (let d = 0n; d < end; count++) {
    const a = now();
    const lock = await take(name);
    const b = now();
    await lock.release();
    d = now();
    if (stamps) stamps.push(a, b, b, d);
  }
  return count;
}

async function run(prefix, locks, threads, end, stamped) {
  const stamps = [];
  const start = now();
  const crew = Array.from({ length: threads }, (_, i) =>
    work(prefix + (i % locks), end, stamped ? stamps : null));
  const counts = await Promise.all(crew);
  return `{"took":${now() - start},"counts":[${counts}],"stamps":[${stamps}]}`;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const word = line.split(" ");
  if (word[0] === "hold") {
    await take(word[1]);
    console.log(`{"at":${now()}}`);
  } else {
    console.log(await run(word[1], +word[2], +word[3], BigInt(word[4]), word[5] === "1"));
  }
}
process.exit(0);
