//! The number of words that each launcher option takes, to find the program in a command.
//!
//! An option missing from the tables makes the result "unknown"; the command is then left as it is.

/// The kind of launcher, as far as its options are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Slurm's `srun`.
    Slurm,
    /// MPICH's Hydra and Intel's.
    Hydra,
    /// Open MPI's ORTE and PRRTE.
    OpenMpi,
}

/// Short options of `srun` that take a word, attached or not.
const SLURM_SHORT: &str = "AbBcCdDeGiJLmMnNopqrStTwWxz";
/// Long options of `srun` that take no word, or only an attached one. All others take one.
const SLURM_FLAGS: [&str; 31] = [
    "compress",
    "no-kill",
    "kill-on-bad-exit",
    "label",
    "hold",
    "immediate",
    "overcommit",
    "overlap",
    "nice",
    "pty",
    "quit-on-interrupt",
    "quiet",
    "reboot",
    "oversubscribe",
    "share",
    "send-libs",
    "spread-job",
    "unbuffered",
    "use-min-nodes",
    "verbose",
    "disable-status",
    "contiguous",
    "no-allocate",
    "exact",
    "whole",
    "exclusive",
    "resv-ports",
    "preserve-env",
    "propagate",
    "get-user-env",
    "stepmgr",
];

/// Options of Hydra and Intel's Hydra, without dashes.
const HYDRA: [(&str, usize); 71] = [
    ("n", 1),
    ("np", 1),
    ("ppn", 1),
    ("perhost", 1),
    ("grr", 1),
    ("rr", 0),
    ("f", 1),
    ("hostfile", 1),
    ("machinefile", 1),
    ("machine", 1),
    ("hosts", 1),
    ("host", 1),
    ("hostlist", 1),
    ("wdir", 1),
    ("configfile", usize::MAX),
    ("genv", 2),
    ("genvlist", 1),
    ("genvnone", 0),
    ("genvall", 0),
    ("genvexcl", 1),
    ("env", 2),
    ("envlist", 1),
    ("envnone", 0),
    ("envall", 0),
    ("envexcl", 1),
    ("launcher", 1),
    ("launcher-exec", 1),
    ("bootstrap", 1),
    ("bootstrap-exec", 1),
    ("bootstrap-exec-args", 1),
    ("enable-x", 0),
    ("disable-x", 0),
    ("rmk", 1),
    ("bind-to", 1),
    ("binding", 1),
    ("map-by", 1),
    ("membind", 1),
    ("topolib", 1),
    ("ckpointlib", 1),
    ("ckpoint-prefix", 1),
    ("ckpoint-num", 1),
    ("ckpoint-interval", 1),
    ("demux", 1),
    ("verbose", 0),
    ("v", 0),
    ("info", 0),
    ("version", 0),
    ("print-all-exitcodes", 0),
    ("iface", 1),
    ("nameserver", 1),
    ("disable-auto-cleanup", 0),
    ("disable-hostname-propagation", 0),
    ("enable-hostname-propagation", 0),
    ("order-nodes", 1),
    ("localhost", 1),
    ("usize", 1),
    ("pmi-port", 0),
    ("skip-launch-node", 0),
    ("gpus-per-proc", 1),
    ("gpu-subdevs-per-proc", 1),
    ("memory-alloc-policy", 1),
    ("outfile-pattern", 1),
    ("errfile-pattern", 1),
    ("outfile", 1),
    ("errfile", 1),
    ("prepend-rank", 0),
    ("prepend-pattern", 1),
    ("l", 0),
    ("print-rank-map", 0),
    ("silent-abort", 0),
    ("nolocal", 0),
];

/// Options of Open MPI's launchers, without dashes.
const OPEN_MPI: [(&str, usize); 67] = [
    ("n", 1),
    ("np", 1),
    ("c", 1),
    ("N", 1),
    ("npernode", 1),
    ("npersocket", 1),
    ("pernode", 0),
    ("H", 1),
    ("host", 1),
    ("hostfile", 1),
    ("machinefile", 1),
    ("default-hostfile", 1),
    ("mca", 2),
    ("gmca", 2),
    ("omca", 2),
    ("gomca", 2),
    ("pmca", 2),
    ("gpmca", 2),
    ("prtemca", 2),
    ("pmixmca", 2),
    ("gpmixmca", 2),
    ("x", 1),
    ("wdir", 1),
    ("wd", 1),
    ("oversubscribe", 0),
    ("nooversubscribe", 0),
    ("nolocal", 0),
    ("use-hwthread-cpus", 0),
    ("map-by", 1),
    ("rank-by", 1),
    ("bind-to", 1),
    ("bind-to-core", 0),
    ("bind-to-none", 0),
    ("bycore", 0),
    ("bynode", 0),
    ("byslot", 0),
    ("cpus-per-proc", 1),
    ("cpus-per-rank", 1),
    ("cpu-set", 1),
    ("cpu-list", 1),
    ("report-bindings", 0),
    ("display-map", 0),
    ("display-allocation", 0),
    ("display", 1),
    ("tag-output", 0),
    ("timestamp-output", 0),
    ("output-filename", 1),
    ("output", 1),
    ("merge-stderr-to-stdout", 0),
    ("stdin", 1),
    ("xterm", 1),
    ("q", 0),
    ("quiet", 0),
    ("v", 0),
    ("verbose", 0),
    ("allow-run-as-root", 0),
    ("prefix", 1),
    ("noprefix", 0),
    ("path", 1),
    ("tune", 1),
    ("am", 1),
    ("timeout", 1),
    ("report-state-on-timeout", 0),
    ("get-stack-traces", 0),
    ("rf", 1),
    ("rankfile", 1),
    ("personality", 1),
];

impl Kind {
    /// Returns the number of words after this one that belong to it; `None` if unknown.
    pub fn takes(self, word: &str) -> Option<usize> {
        match self {
            Self::Slurm => slurm(word),
            Self::Hydra => among(&HYDRA, word),
            Self::OpenMpi => among(&OPEN_MPI, word),
        }
    }
}

fn among(table: &[(&str, usize)], word: &str) -> Option<usize> {
    let name = word.trim_start_matches('-');
    if name.contains('=') {
        return Some(0);
    }
    table.iter().find(|(known, _)| *known == name).map(|(_, words)| *words).filter(|words| *words < 8)
}

fn slurm(word: &str) -> Option<usize> {
    if let Some(long) = word.strip_prefix("--") {
        // Then the program argument is a file with a list of programs.
        let several = long == "multi-prog";
        let none = long.contains('=') || SLURM_FLAGS.contains(&long);
        return (!several && !long.is_empty()).then_some(usize::from(!none));
    }
    let letters = word.strip_prefix('-')?;
    let at = letters.find(|c| SLURM_SHORT.contains(c));
    // Anything after the letter is its attached word.
    Some(usize::from(at.is_some_and(|at| at + 1 == letters.len())))
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn options_take_as_many_words_as_the_launchers_document() {
        let takes = |kind: Kind, word| kind.takes(word);
        for (word, words) in
            [("-n", 1), ("-n6", 0), ("--nodes", 1), ("--nodes=3", 0), ("-lu", 0), ("-lN", 1), ("--label", 0)]
        {
            assert_eq!(takes(Kind::Slurm, word), Some(words), "{word}");
        }
        assert_eq!(takes(Kind::Slurm, "--multi-prog"), None);
        assert_eq!(takes(Kind::Hydra, "-genv"), Some(2));
        assert_eq!(takes(Kind::Hydra, "-configfile"), None);
        assert_eq!(takes(Kind::OpenMpi, "--mca"), Some(2));
        assert_eq!(takes(Kind::OpenMpi, "--no-such-option"), None);
    }
}
