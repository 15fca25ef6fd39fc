//! TLC's configuration files, as far as `models/cfg` uses them: the same file configures both checkers.
use crate::checker::Error;

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// Invariants, in the order in which they are looked at.
    pub invariants: Vec<String>,
    /// Temporal properties.
    pub properties: Vec<String>,
    constants: Vec<(String, String)>,
}

impl Config {
    /// Reads a configuration. What it does not know is an error: a setting that is passed over would make the two
    /// checkers check different things.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut config = Config::default();
        for line in text.lines().map(str::trim) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let names = || rest.split_whitespace().map(str::to_string);
            match word {
                "" | "\\*" | "SPECIFICATION" | "CONSTANTS" => (),
                "INVARIANTS" => config.invariants.extend(names()),
                "PROPERTIES" => config.properties.extend(names()),
                "CHECK_DEADLOCK" if rest == "FALSE" => (),
                name => match rest.split_once('=') {
                    Some(("", value)) => {
                        config
                            .constants
                            .push((name.to_string(), value.trim().to_string()));
                    }
                    _ => return Err(Error::Configuration(format!("not understood: {line}"))),
                },
            }
        }
        if config.properties.iter().any(|p| p != "EventuallyCompletes") {
            return Err(Error::Configuration(format!(
                "the only temporal property is EventuallyCompletes, not {:?}",
                config.properties
            )));
        }
        Ok(config)
    }

    fn constant<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
        let value = self
            .constants
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v);
        value.and_then(|v| read(v)).ok_or_else(|| {
            Error::Configuration(format!(
                "constant {name}: {}",
                value.map_or("missing", |v| v)
            ))
        })
    }

    /// A number.
    pub fn number(&self, name: &str) -> Result<u8, Error> {
        self.constant(name, |v| v.parse().ok())
    }

    /// TRUE or FALSE.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        self.constant(name, |v| match v {
            "TRUE" => Some(true),
            "FALSE" => Some(false),
            _ => None,
        })
    }

    /// A string.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        let value = self.constants.iter().find(|(n, _)| n == name);
        value
            .and_then(|(_, v)| v.strip_prefix('"')?.strip_suffix('"'))
            .ok_or_else(|| Error::Configuration(format!("constant {name}: not a string")))
    }

    /// How many elements a set has.
    pub fn count(&self, name: &str) -> Result<u8, Error> {
        self.constant(name, |v| {
            let inside = v.strip_prefix('{')?.strip_suffix('}')?;
            u8::try_from(inside.split(',').filter(|e| !e.trim().is_empty()).count()).ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() -> Result<(), Error> {
        let c = Config::parse(
            "\\* M: a note\nSPECIFICATION Spec\nCONSTANTS\n  N = 3\n  V = {a, b}\n  F = TRUE\n  W = \"EO\"\n\
             INVARIANTS A B\nPROPERTIES EventuallyCompletes\nCHECK_DEADLOCK FALSE\n",
        )?;
        assert_eq!(
            (c.number("N")?, c.count("V")?, c.flag("F")?, c.text("W")?),
            (3, 2, true, "EO")
        );
        assert_eq!((c.invariants.len(), c.properties.len()), (2, 1));
        for wrong in [
            c.number("V").is_err(),
            c.flag("N").is_err(),
            c.count("X").is_err(),
            c.text("N").is_err(),
        ] {
            assert!(wrong);
        }
        Ok(())
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            "SYMMETRY Perms",
            "CHECK_DEADLOCK TRUE",
            "VIEW v",
            "PROPERTIES Other",
        ] {
            assert!(Config::parse(text).is_err(), "{text}");
        }
    }
}
