//! Translates linker names to source names.

/// Returns the name as in the source, without parameters: C++, Rust, and procedures of Fortran modules
/// (`module::procedure`). Suffixes of compilers (`.constprop.0`, `.cold`) and linkers (`@@VERSION`) are
/// removed. A plain name is returned unchanged.
pub fn demangle(symbol: &str) -> String {
    let symbol = symbol.split_once('@').map_or(symbol, |(name, _)| name);
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return format!("{rust:#}");
    }
    let plain = match symbol.split_once('.') {
        Some((name, _)) if !name.is_empty() => name,
        _ => symbol,
    };
    cpp(plain).or_else(|| fortran(plain)).unwrap_or_else(|| plain.to_owned())
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

/// gfortran and flang: `__module_MOD_procedure`; Intel: `module_mp_procedure_`; NVIDIA's `module_procedure_`
/// cannot be distinguished from a name with an underscore and is left unchanged.
fn fortran(symbol: &str) -> Option<String> {
    let gnu = || symbol.strip_prefix("__")?.split_once("_MOD_");
    let intel = || symbol.strip_suffix('_')?.split_once("_mp_");
    let (module, procedure) = gnu().or_else(intel)?;
    (!module.is_empty() && !procedure.is_empty()).then(|| format!("{module}::{procedure}"))
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_of_each_language_are_shown_as_in_the_source() {
        for (symbol, name) in [
            ("main", "main"),
            ("halo_exchange.constprop.0", "halo_exchange"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZN4heat4gridIdE8exchangeEi", "heat::grid<double>::exchange"),
            ("_ZN4heat4stepEv.cold", "heat::step"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("__solver_MOD_relax", "solver::relax"),
            ("solver_mp_relax_", "solver::relax"),
            ("mpi_send_", "mpi_send_"),
            ("MAIN__", "MAIN__"),
            ("", ""),
            (".text", ".text"),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }

    #[test]
    fn a_malicious_name_is_returned_unchanged() {
        let deep = format!("_Z{}", "P".repeat(100_000));
        assert_eq!(demangle(&deep), deep);
    }
}
