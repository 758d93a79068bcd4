//! CheapNodes, a plugin in Rust: prefers nodes with a low price, which is the value of a label. The cheapest node of those
//! that fit gets 100, the dearest 0, and so does a node whose price is not known.
//!
//!   pluginConfig:
//!   - name: CheapNodes
//!     args: {label: example.com/price-per-hour}
//!
//! Build: rustc --edition 2021 --crate-type cdylib -C opt-level=3 cheap_nodes.rs -o cheap_nodes.so
mod berth_plugin;

use berth_plugin::*;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

macro_rules! text {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

struct CheapNodes {
    host: *const Host,
    label: CString,
}

extern "C" fn create(host: *const Host, _: *mut Scheduler, _: *const c_char, reply: *mut Reply) -> *mut c_void {
    let functions = unsafe { &*host };
    let mut label = text!("example.com/price-per-hour");
    (functions.take_text)(reply, text!("label"), &mut label);
    // The text is the host's, and valid until this function returns.
    let label = unsafe { CStr::from_ptr(label) }.to_owned();
    if label.as_bytes().is_empty() {
        (functions.add_reason)(reply, text!("label: Required value"));
        return ptr::null_mut();
    }
    Box::into_raw(Box::new(CheapNodes { host, label })) as *mut c_void
}

extern "C" fn destroy(plugin: *mut c_void) {
    drop(unsafe { Box::from_raw(plugin as *mut CheapNodes) });
}

extern "C" fn score(plugin: *mut c_void, attempt: *const Attempt, words: *const u64, scores: *mut i64, reply: *mut Reply) -> i32 {
    let plugin = unsafe { &*(plugin as *const CheapNodes) };
    // A panic must not leave a function of a plugin.
    let scored = catch_unwind(AssertUnwindSafe(|| unsafe { plugin.score(attempt, words, scores) }));
    if scored.is_ok() {
        return SUCCESS;
    }
    (unsafe { &*plugin.host }.add_reason)(reply, text!("a panic while nodes were scored"));
    ERROR
}

impl CheapNodes {
    unsafe fn score(&self, attempt: *const Attempt, words: *const u64, scores: *mut i64) {
        let rows = ((*self.host).rows)(attempt);
        let priced: Vec<(usize, f64)> =
            each_row(words, rows).filter_map(|row| Some((row, self.price(attempt, row)?))).collect();
        let cheapest = priced.iter().map(|(_, price)| *price).fold(f64::INFINITY, f64::min);
        let dearest = priced.iter().map(|(_, price)| *price).fold(0.0, f64::max);
        for (row, price) in priced {
            let share = if dearest > cheapest { (dearest - price) / (dearest - cheapest) } else { 1.0 };
            *scores.add(row) = (share * MAX_SCORE as f64) as i64;
        }
    }

    /// None: the node has no such label, or its value is no price.
    unsafe fn price(&self, attempt: *const Attempt, row: usize) -> Option<f64> {
        let value = ((*self.host).node_label)(attempt, row as u32, self.label.as_ptr());
        if value.is_null() {
            return None;
        }
        let price: f64 = CStr::from_ptr(value).to_str().ok()?.parse().ok()?;
        (price.is_finite() && price >= 0.0).then(|| price)
    }
}

#[no_mangle]
pub extern "C" fn berth_plugin_version() -> u32 {
    VERSION
}

#[no_mangle]
pub extern "C" fn berth_plugin_describe() -> *const Library {
    // It rejects no node, so no event helps a pod.
    static NO_EVENT: [Event; 1] = [Event { resource: 0, actions: 0 }];
    static PLUGIN: Table<Plugin> = Table(Plugin {
        size: std::mem::size_of::<Plugin>() as u32,
        flags: 0,
        name: text!("CheapNodes"),
        version: text!("1.0"),
        events: NO_EVENT.as_ptr(),
        event_count: 0,
        annotations: ptr::null(),
        annotation_count: 0,
        create,
        destroy,
        pre_filter: ptr::null(),
        filter_node: ptr::null(),
        filter: ptr::null(),
        pre_score: ptr::null(),
        score_node: ptr::null(),
        score,
        normalize_node: ptr::null(),
        normalize: ptr::null(),
        reserve: ptr::null(),
        unreserve: ptr::null(),
        permit: ptr::null(),
        pre_bind_pre_flight: ptr::null(),
        pre_bind: ptr::null(),
        post_bind: ptr::null(),
    });
    static PLUGINS: Table<[*const Plugin; 1]> = Table([&PLUGIN.0]);
    static LIBRARY: Table<Library> =
        Table(Library { size: std::mem::size_of::<Library>() as u32, plugin_count: 1, plugins: PLUGINS.0.as_ptr() });
    &LIBRARY.0
}
