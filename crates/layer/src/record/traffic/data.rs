//! What one side of a message specified: buffer, count, datatype, and where.

use mpiscope_image::traffic::{Request, RequestKind};

/// What one side of a message specified.
#[derive(Clone, Copy, Default)]
pub struct Data {
    /// The return address of the call.
    pub from: u64,
    /// Number of elements.
    pub count: u64,
    /// Handle of the datatype.
    pub datatype: u64,
    /// Address of the buffer; zero if unknown.
    pub buffer: u64,
}

impl Data {
    /// Returns what a request was made with.
    #[inline(always)]
    pub fn of(request: &Request) -> Self {
        // For a partitioned operation the recorded count is that of one partition.
        let partitions =
            if RequestKind(request.kind.get()).is_partitioned() { request.partitions.get() } else { 1 };
        Self {
            from: request.called_from(),
            count: request.count.get().wrapping_mul(u64::from(partitions)),
            datatype: request.datatype.get(),
            buffer: request.buffer.get(),
        }
    }
}
