//! rust_heap N: starts N threads besides the main thread. Each allocates, grows and frees a
//! different amount, and sleeps. The global allocator counts the bytes that jemalloc should count.
//! For that it links only one more function, nallocx, which returns the rounded size.
//!
//! Prints "ready" when all threads sleep. At the end of standard input, it prints a line `tid
//! allocated deallocated` for each thread, including the main thread, and exits, like ../heap.c.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::{Arc, Barrier, Mutex};

thread_local! {
    static FIGURES: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

extern "C" {
    #[link_name = "_rjem_nallocx"]
    fn nallocx(size: usize, flags: i32) -> usize;
    fn gettid() -> i32;
}

/// Returns the size to which jemalloc rounds, which its counters count.
fn real_size(size: usize, align: usize) -> u64 {
    let flags = if align <= 16 && align <= size { 0 } else { align.trailing_zeros() as i32 };
    unsafe { nallocx(size, flags) as u64 }
}

fn count(new: u64, freed: u64) {
    FIGURES.with(|figures| {
        let (allocated, deallocated) = figures.get();
        figures.set((allocated + new, deallocated + freed));
    });
}

fn own_figures() -> (i32, u64, u64) {
    let (allocated, deallocated) = FIGURES.with(|figures| figures.get());
    (unsafe { gettid() }, allocated, deallocated)
}

struct CountingAllocator;

unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(real_size(layout.size(), layout.align()), 0);
        jemalloc::Jemalloc.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(real_size(layout.size(), layout.align()), 0);
        jemalloc::Jemalloc.alloc_zeroed(layout)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, real_size(layout.size(), layout.align()));
        jemalloc::Jemalloc.dealloc(block, layout)
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(real_size(size, layout.align()), real_size(layout.size(), layout.align()));
        jemalloc::Jemalloc.realloc(block, layout, size)
    }
}

#[global_allocator]
static GLOBAL: CountingAllocator = CountingAllocator;

fn work(number: usize) -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    for i in 0..64 {
        let mut block = vec![1u8; (number + 1) * 40 + i * 113];
        block.resize(block.len() * 3, 2);
        if i % (number % 5 + 2) != 0 {
            kept.push(block);
        }
    }
    kept
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let barrier = Arc::new(Barrier::new(threads + 1));
    let reports = Arc::new(Mutex::new(Vec::with_capacity(threads + 1)));
    for number in 1..=threads {
        let (barrier, reports) = (barrier.clone(), reports.clone());
        std::thread::spawn(move || {
            let kept = work(number);
            reports.lock().unwrap().push(own_figures());
            barrier.wait();
            loop {
                std::thread::park();
                black_box(&kept);
            }
        });
    }
    barrier.wait();
    let kept = work(0);
    let (mut input, mut byte) = (std::io::stdin().lock(), [0u8; 1]); // allocates a buffer of 8 KiB
    std::io::stdout().write_all(b"ready\n").unwrap();
    std::io::stdout().flush().unwrap();
    let own = own_figures();
    while input.read(&mut byte).unwrap() > 0 {}
    let mut reports = reports.lock().unwrap();
    reports.push(own);
    for (tid, allocated, deallocated) in reports.iter() {
        println!("{tid} {allocated} {deallocated}");
    }
    black_box(&kept);
}
