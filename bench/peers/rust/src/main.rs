// SPDX-License-Identifier: Apache-2.0
//! peer PORT TTL_MS: rslock on tokio, by the protocol of docs/benchmarks.md.
use rslock::LockManager;
use std::io::BufRead;
use std::time::Duration;

fn now() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// acquire() tries for ever, by itself.
async fn work(locks: LockManager, name: String, ttl: Duration, end: u64, stamped: bool) -> (u64, Vec<u64>) {
    let mut stamps = Vec::new();
    let (mut count, mut d) = (0, 0);
    while d < end {
        let a = now();
        let guard = locks.acquire(name.as_str(), ttl).await.expect("acquire");
        let b = now();
        guard.release().await;
        d = now();
        count += 1;
        if stamped {
            stamps.extend([a, b, b, d]);
        }
    }
    (count, stamps)
}

#[tokio::main]
async fn main() {
    let arg: Vec<String> = std::env::args().collect();
    let manager = LockManager::new(vec![format!("redis://127.0.0.1:{}/", arg[1])]);
    let ttl = Duration::from_millis(arg[2].parse().unwrap());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let w: Vec<&str> = line.split(' ').collect();
        if w[0] == "hold" {
            std::mem::forget(manager.acquire(w[1], ttl).await.expect("acquire"));
            println!("{{\"at\":{}}}", now());
            continue;
        }
        let (locks, threads): (usize, usize) = (w[2].parse().unwrap(), w[3].parse().unwrap());
        let (end, stamped): (u64, bool) = (w[4].parse().unwrap(), w[5] == "1");
        let start = now();
        let crew: Vec<_> = (0..threads)
            .map(|i| tokio::spawn(work(manager.clone(), format!("{}{}", w[1], i % locks), ttl, end, stamped)))
            .collect();
        let (mut counts, mut stamps) = (Vec::new(), Vec::new());
        for task in crew {
            let (count, of) = task.await.unwrap();
            counts.push(count);
            stamps.extend(of);
        }
        println!("{{\"took\":{},\"counts\":{:?},\"stamps\":{:?}}}", now() - start, counts, stamps);
    }
}
