//! Methods of Storm's nimbus that Ringstorm does not have, and why. Threading: pure functions. Errors: none.

/// Why a method cannot be done; for every name there is something to say. Nothing was done.
pub(super) fn why(method: &str) -> String {
    let reason = match method {
        "debug" => "there is no event logger that tuples could be written to",
        "setWorkerProfiler" => "workers are no Java machines and have no profiler; use the system's own, such as perf",
        "beginCreateBlob" | "beginUpdateBlob" | "uploadBlobChunk" | "finishBlobUpload" | "cancelBlobUpload" => {
            "it keeps the blobs of topologies and none of users"
        }
        "setBlobMeta" | "deleteBlob" => {
            "the blobs of topologies come and go with them, and there are no access lists; kill the topology instead"
        }
        "updateBlobReplication" => "every nimbus holds every blob; start more of them instead",
        "createStateInZookeeper" => "nimbuses themselves say which blobs they hold",
        "downloadChunk" => "Storm has no method that begins such a download any more; use beginBlobDownload",
        "processWorkerMetrics" => "there is no store of metrics; figures of workers are in their heartbeats",
        _ => "Ringstorm has nothing of that kind",
    };
    format!("{method} is not supported by Ringstorm's nimbus: {reason}; nothing was done")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_is_not_supported_is_named_with_its_reason() {
        assert!(why("debug").starts_with("debug is not supported by Ringstorm's nimbus: there is no event logger"));
    }
}
