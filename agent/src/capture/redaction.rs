//! Names and types of values that are never read, because they often hold secrets.

use redial_protocol::trace::OmittedReason;
use std::collections::HashSet;

/// Names of parameters and fields, as [`normalized`] writes them. From Datadog's dynamic instrumentation
/// (seed `notes/trace.md`).
const NAMES: &str = "2fa accesstoken aiohttpsession apikey appkey apisecret apisignature applicationkey auth \
    authorization authtoken ccnumber certificatepin cipher clientid clientsecret connectionstring connectsid cookie \
    credentials creditcard csrf csrftoken cvv databaseurl dburl encryptionkey encryptionkeyid geolocation gpgkey \
    ipaddress jti jwt licensekey masterkey mysqlpwd nonce oauth oauthtoken otp passhash passwd password passwordb \
    pemfile pgpkey phpsessid pin pincode pkcs8 privatekey publickey pwd recaptchakey refreshtoken routingnumber salt \
    secret secretkey secrettoken securityanswer securitycode securityquestion serviceaccountcredentials session \
    sessionid sessionkey setcookie signature signaturekey sshkey ssn symfony token transactionid twiliotoken \
    usersession voterid xapikey xauthtoken xcsrftoken xforwardedfor xrealip xsrf xsrftoken";

/// Types whose values are never read, by their full names in C# form.
const TYPES: [&str; 3] = [
    "System.Security.SecureString",
    "System.Net.NetworkCredential",
    "System.Security.Cryptography.X509Certificates.X509Certificate2",
];

/// Types that hold no secret whatever they are called: every asynchronous method has a `CancellationToken token`.
const HARMLESS_TYPES: [&str; 1] = ["System.Threading.CancellationToken"];

/// The host's list of names to hide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    names: HashSet<String>,
}

impl Default for Redaction {
    fn default() -> Redaction {
        Redaction { names: NAMES.split_ascii_whitespace().map(str::to_owned).collect() }
    }
}

impl Redaction {
    /// Returns the default list, changed by `REDIAL_REDACT`: names to add, separated by commas, and names to take
    /// out of the list after a `!`.
    pub fn with_changes(changes: &str) -> Redaction {
        let mut redaction = Redaction::default();
        for change in changes.split(',').map(str::trim).filter(|change| !change.is_empty()) {
            match change.strip_prefix('!') {
                Some(name) => drop(redaction.names.remove(&normalized(name))),
                None => drop(redaction.names.insert(normalized(change))),
            }
        }
        redaction
    }

    /// Returns why a value with this name and type is not read, if so.
    pub fn reason(&self, name: &str, type_name: &str) -> Option<OmittedReason> {
        if TYPES.contains(&type_name) {
            return Some(OmittedReason::RedactedType);
        }
        let hidden = self.names.contains(&normalized(name)) && !HARMLESS_TYPES.contains(&type_name);
        hidden.then_some(OmittedReason::RedactedName)
    }
}

/// Returns a name as the list has it: lower-case, without `_`, `-`, `$` and `@`, and without the brackets that the C#
/// compiler puts around the name of a property's field.
fn normalized(name: &str) -> String {
    let name = name.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(name, |(inner, _)| inner);
    name.chars().filter(|one| !matches!(one, '_' | '-' | '$' | '@')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_names_without_case_and_marks() {
        let redaction = Redaction::default();
        for name in
            ["password", "_passWord", "Pass_Word", "@password", "<Password>k__BackingField", "X-Api-Key"]
        {
            assert_eq!(redaction.reason(name, "string"), Some(OmittedReason::RedactedName), "{name}");
        }
        for name in ["", "passwordLength", "order", "<>4__this"] {
            assert_eq!(redaction.reason(name, "string"), None, "{name}");
        }
        assert_eq!(redaction.reason("token", "System.Threading.CancellationToken"), None);
        let secure = "System.Security.SecureString";
        assert_eq!(redaction.reason("text", secure), Some(OmittedReason::RedactedType));
    }

    #[test]
    fn the_host_adds_and_exempts_names() {
        let redaction = Redaction::with_changes(" Iban, !session ,,!Client_Id");
        assert_eq!(redaction.reason("iban", "string"), Some(OmittedReason::RedactedName));
        assert_eq!(redaction.reason("session", "string"), None);
        assert_eq!(redaction.reason("clientId", "string"), None);
        assert_eq!(redaction.reason("pwd", "string"), Some(OmittedReason::RedactedName));
    }
}
