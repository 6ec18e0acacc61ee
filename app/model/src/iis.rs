//! Reads site and application from the names that IIS gives its AppDomains.

/// The parts of an IIS AppDomain's name, `/LM/W3SVC/SITE/ROOT[APPLICATION]-COUNT-TIME`. IIS increments COUNT
/// at each recycle, so only the part before it identifies the application permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IisName<'a> {
    /// The site's number, from 1.
    pub site: u32,
    /// The path of the application; `/` at the site's root.
    pub application: &'a str,
    /// The common prefix of the names across recycles, including the hyphen. (Names of an application
    /// `/Shop-2` also start with the prefix of `/Shop`.)
    pub prefix: &'a str,
}

impl<'a> IisName<'a> {
    /// Parses a name; `None` if IIS did not give it.
    pub fn read(name: &'a str) -> Option<Self> {
        let rest = after(name, "/LM/W3SVC/")?;
        let (site, rest) = rest.split_once('/')?;
        let rest = after(rest, "ROOT")?;
        let (path, time) = before_number(rest)?;
        let (path, count) = before_number(path)?;
        let is_path = path.is_empty() || (path.starts_with('/') && path.len() > 1);
        if !is_path {
            return None;
        }
        Some(IisName {
            site: number(site)?.parse().ok()?,
            application: if path.is_empty() { "/" } else { path },
            prefix: name.get(..name.len() - time.len() - "-".len() - count.len())?,
        })
    }
}

/// Returns the text after a beginning, ignoring case.
fn after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(beginning.len())?;
    start.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// Splits `TEXT-NUMBER` at the last hyphen.
fn before_number(text: &str) -> Option<(&str, &str)> {
    let (before, digits) = text.rsplit_once('-')?;
    Some((before, number(digits)?))
}

fn number(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Option<(u32, &str, &str)> {
        IisName::read(name).map(|name| (name.site, name.application, name.prefix))
    }

    #[test]
    fn reads_site_and_application() {
        assert_eq!(read("/LM/W3SVC/1/ROOT-2-133012345678901234"), Some((1, "/", "/LM/W3SVC/1/ROOT-")));
        assert_eq!(
            read("/LM/W3SVC/1/ROOT/Shop-2-133012345678901234"),
            Some((1, "/Shop", "/LM/W3SVC/1/ROOT/Shop-"))
        );
        assert_eq!(
            read("/LM/W3SVC/12/ROOT/my-shop/Admin-10-1"),
            Some((12, "/my-shop/Admin", "/LM/W3SVC/12/ROOT/my-shop/Admin-"))
        );
        assert_eq!(read("/LM/W3SVC/1/ROOT/a-1-2-3"), Some((1, "/a-1", "/LM/W3SVC/1/ROOT/a-1-")));
        assert_eq!(read("/lm/w3svc/4/root/Läden-1-2"), Some((4, "/Läden", "/lm/w3svc/4/root/Läden-")));
    }

    #[test]
    fn rejects_other_names() {
        for name in [
            "",
            "clrhost",
            "DefaultDomain",
            "/LM/W3SVC/1/ROOT",
            "/LM/W3SVC/1/ROOT-133012345678901234",
            "/LM/W3SVC/1/ROOT/Shop-2-",
            "/LM/W3SVC/1/ROOT/Shop-2-x",
            "/LM/W3SVC/1/ROOTS-2-1",
            "/LM/W3SVC/1/ROOT/-2-1",
            "/LM/W3SVC/x/ROOT-2-1",
            "/LM/W3SVC//ROOT-2-1",
            "/LM/W3SVC/99999999999/ROOT-2-1",
            "x/LM/W3SVC/1/ROOT-2-1",
            "/LM/W3SVÇ/1/ROOT-2-1",
            "ROOT-2-1",
        ] {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
