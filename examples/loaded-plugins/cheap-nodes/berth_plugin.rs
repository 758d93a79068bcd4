//! The parts of berth_plugin.h that cheap_nodes.rs uses. The host's table may end early: only its first members are used.
//! The plugin's tables are complete; functions that are null disable their extension point.
#![allow(dead_code)]

use std::os::raw::{c_char, c_void};

pub const VERSION: u32 = 1 << 16;

pub const SUCCESS: i32 = 0;
pub const ERROR: i32 = 1;
pub const MAX_SCORE: i64 = 100;

/// Objects of the host, known by their address only.
#[repr(C)]
pub struct Scheduler([u8; 0]);
#[repr(C)]
pub struct Attempt([u8; 0]);
#[repr(C)]
pub struct Pod([u8; 0]);
#[repr(C)]
pub struct Reply([u8; 0]);

/// A function that this plugin does not call.
type Uncalled = *const c_void;

#[repr(C)]
pub struct Host {
    pub size: u32,
    pub version: u32,
    log: Uncalled,
    log_wanted: Uncalled,
    pub add_reason: extern "C" fn(*mut Reply, *const c_char),
    take_int: Uncalled,
    take_bool: Uncalled,
    take_number: Uncalled,
    pub take_text: extern "C" fn(*mut Reply, *const c_char, *mut *const c_char),
    resource: Uncalled,
    register_signal: Uncalled,
    pod_name: Uncalled,
    pod_namespace: Uncalled,
    pod_uid: Uncalled,
    pod_scheduler_name: Uncalled,
    pod_priority: Uncalled,
    pod_label: Uncalled,
    pod_annotation: Uncalled,
    pod: Uncalled,
    request: Uncalled,
    data: Uncalled,
    set_data: Uncalled,
    only_nodes: Uncalled,
    node_name: Uncalled,
    pub node_label: extern "C" fn(*const Attempt, u32, *const c_char) -> *const c_char,
    node_annotation: Uncalled,
    node_allocatable: Uncalled,
    node_requested: Uncalled,
    node_pods: Uncalled,
    node_pod: Uncalled,
    node_pod_request: Uncalled,
    pub rows: extern "C" fn(*const Attempt) -> usize,
}

#[repr(C)]
pub struct Event {
    pub resource: u32,
    pub actions: u32,
}

pub type Score = extern "C" fn(*mut c_void, *const Attempt, *const u64, *mut i64, *mut Reply) -> i32;

#[repr(C)]
pub struct Plugin {
    pub size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub events: *const Event,
    pub event_count: usize,
    pub annotations: *const *const c_char,
    pub annotation_count: usize,
    pub create: extern "C" fn(*const Host, *mut Scheduler, *const c_char, *mut Reply) -> *mut c_void,
    pub destroy: extern "C" fn(*mut c_void),
    pub pre_filter: *const c_void,
    pub filter_node: *const c_void,
    pub filter: *const c_void,
    pub pre_score: *const c_void,
    pub score_node: *const c_void,
    pub score: Score,
    pub normalize_node: *const c_void,
    pub normalize: *const c_void,
    pub reserve: *const c_void,
    pub unreserve: *const c_void,
    pub permit: *const c_void,
    pub pre_bind_pre_flight: *const c_void,
    pub pre_bind: *const c_void,
    pub post_bind: *const c_void,
}

#[repr(C)]
pub struct Library {
    pub size: u32,
    pub plugin_count: u32,
    pub plugins: *const *const Plugin,
}

/// A table that never changes, so that threads may share it.
#[repr(transparent)]
pub struct Table<T>(pub T);
unsafe impl<T> Sync for Table<T> {}

/// The rows of the set `words`, of a table with `rows` rows.
///
/// # Safety
/// `words` must have one bit for each row.
pub unsafe fn each_row(words: *const u64, rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).filter(move |row| *words.add(row / 64) >> (row % 64) & 1 == 1)
}
