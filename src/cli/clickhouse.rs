//! Spans straight from ClickHouse, over its HTTP interface.
//!
//! Owns the connection: who asks, in which words it fails. The questions and the meaning of the answers
//! are [`herdscope::clickhouse`]'s. The password goes out as a header and nowhere else: not into the
//! address, not into a message, and after no redirect. Pinned by `tests/clickhouse/`.

use std::env;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use herdscope::clickhouse::{Counts, Ending, MOST_ROWS, PARAMETERS, Query, refused, too_many};
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::ingest::time::{parse_time, print_time};
use herdscope::ingest::{Limits, Reader, Reading, Told};
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::Failure;

const HEADING: &str = "Spans from ClickHouse, instead of files";

/// Where the password is when nothing else is said.
const PASSWORD: &str = "HERDSCOPE_CLICKHOUSE_PASSWORD";

#[derive(Debug, Args)]
pub struct ClickHouse {
    /// The server, as in http://localhost:8123; the table is the OpenTelemetry collector's.
    #[arg(long = "clickhouse", value_name = "URL", help_heading = HEADING, conflicts_with = "files", requires = "from")]
    url: Option<String>,
    /// The user who asks; one that can only read is enough. The password is taken from the environment.
    #[arg(long, help_heading = HEADING)]
    user: Option<String>,
    /// The environment variable that holds the password.
    #[arg(long, value_name = "VAR", help_heading = HEADING, default_value = PASSWORD)]
    password_env: String,
    /// When the window begins: 2026-03-29T01:00:00Z (UTC where no zone is given), nanoseconds since 1970,
    /// or back from now as in -15m.
    #[arg(long, value_name = "TIME", help_heading = HEADING, allow_hyphen_values = true)]
    from: Option<String>,
    /// When it ends.
    #[arg(long, value_name = "TIME", help_heading = HEADING, allow_hyphen_values = true, default_value = "now")]
    to: String,
    /// The table, or DATABASE.TABLE.
    #[arg(long, help_heading = HEADING, default_value = "otel_traces")]
    table: String,
    /// Only traces with a span of this service; may be given several times.
    #[arg(long = "service", value_name = "SERVICE", help_heading = HEADING)]
    services: Vec<String>,
    /// Takes one whole trace in N.
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Refuses to read more spans than this.
    #[arg(long, value_name = "N", help_heading = HEADING, default_value_t = MOST_ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    max_rows: u64,
    /// Prints the query instead of sending it.
    #[arg(long, help_heading = HEADING, conflicts_with = "files", requires = "from")]
    sql: bool,
}

impl ClickHouse {
    /// The query, where only that is wanted.
    pub fn sql(&self) -> Result<Option<String>, Failure> {
        self.sql.then(|| Ok(self.query()?.spans())).transpose()
    }

    /// Reads what was asked for; `None` where it is files.
    pub fn read(&self, told: &Told) -> Option<Result<Dataset, Failure>> {
        let url = self.url.as_deref()?;
        Some(self.query().and_then(|query| {
            let client = Client::new(url, self.user.as_deref(), self.password()?, &query)?;
            client.check_size(&query)?;
            let reading = client.read(&query, told)?;
            let name = format!("{} at {}", self.table, client.host);
            Ok(Dataset::new(format::printable(&name), None, reading))
        }))
    }

    /// The window, for a command that looks into files by it.
    pub fn selection(&self) -> Result<std::ops::Range<i64>, Failure> {
        if self.url.is_some() {
            return Err(Failure::Usage(
                "--clickhouse: --from and --to would be all that is read, with nothing to compare it with; \
                 read a wider window into a file first"
                    .to_owned(),
            ));
        }
        let (from, to) = self.window()?;
        match from {
            Some(from) => Ok(from..to),
            None => Err(Failure::Usage(
                "--from: expected when the time begins that is compared, as in 2026-03-29T01:00:00Z"
                    .to_owned(),
            )),
        }
    }

    fn window(&self) -> Result<(Option<i64>, i64), Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX));
        let from = self.from.as_deref().map(|text| time("--from", text, now));
        let (from, to) = (from.transpose()?, time("--to", &self.to, now)?);
        if let Some(from) = from.filter(|&from| from >= to) {
            return Err(Failure::Usage(format!(
                "--from, --to: got {} to {}, expected the earlier time first",
                print_time(from),
                print_time(to)
            )));
        }
        Ok((from, to))
    }

    fn query(&self) -> Result<Query, Failure> {
        let (from, to) = self.window()?;
        if self.table.split('.').any(str::is_empty) {
            return Err(Failure::Usage(format!(
                "--table: got \u{201c}{}\u{201d}, expected TABLE or DATABASE.TABLE",
                self.table
            )));
        }
        Ok(Query {
            table: self.table.clone(),
            from,
            to: Some(to),
            services: self.services.clone(),
            sample: self.sample.filter(|&rate| rate > 1),
            max_rows: self.max_rows,
            ..Query::default()
        })
    }

    fn password(&self) -> Result<Option<String>, Failure> {
        match env::var(&self.password_env) {
            Ok(password) => Ok(Some(password).filter(|it| !it.is_empty())),
            Err(env::VarError::NotPresent) if self.password_env == PASSWORD => Ok(None),
            Err(env::VarError::NotPresent) => Err(Failure::Usage(format!(
                "--password-env: the environment has no {}; export it",
                self.password_env
            ))),
            Err(env::VarError::NotUnicode(_)) => Err(Failure::Usage(format!(
                "--password-env: {} does not hold UTF-8",
                self.password_env
            ))),
        }
    }
}

/// A time: `now`, back from it, or as files have them.
fn time(flag: &str, text: &str, now: i64) -> Result<i64, Failure> {
    let back = |text: &str| {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let number: i64 = number.parse().ok().filter(|&it| it >= 0)?;
        now.checked_sub(number.checked_mul(seconds * 1_000_000_000)?)
    };
    let found = match text.trim() {
        "now" => Some(now),
        text => match text.strip_prefix('-') {
            Some(text) => back(text),
            None => parse_time(text, None).map(|it| it.ns),
        },
    };
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "{flag}: got \u{201c}{text}\u{201d}, expected a time as in 2026-03-29T01:00:00Z, nanoseconds \
             since 1970, now, or back from it as in -15m (s, m, h, d)"
        ))
    })
}

struct Client {
    agent: Agent,
    url: String,
    /// The address, for people.
    host: String,
    user: Option<String>,
    password: Option<String>,
}

impl Client {
    fn new(
        url: &str,
        user: Option<&str>,
        password: Option<String>,
        query: &Query,
    ) -> Result<Client, Failure> {
        let wrong = |why: &str| Failure::Usage(format!("--clickhouse: {why}"));
        let uri: Uri = url
            .parse()
            .map_err(|_| wrong("this is no address; one is http://localhost:8123"))?;
        let host = match uri.authority() {
            // It would end up in logs and in the list of processes.
            Some(it) if it.as_str().contains('@') => {
                return Err(wrong(&format!(
                    "the address holds a user or a password: give --user, and the password in {PASSWORD}"
                )));
            }
            Some(it) if matches!(uri.scheme_str(), Some("http" | "https")) => it.to_string(),
            _ => return Err(wrong("expected an address with http:// or https://")),
        };
        let asked = uri.query().unwrap_or_default();
        let named = |it: &str| matches!(it.split('=').next(), Some("user" | "password"));
        if asked.split('&').any(named) {
            return Err(wrong(&format!(
                "the address holds a user or a password: give --user, and the password in {PASSWORD}"
            )));
        }
        let joint = if url.contains('?') { '&' } else { '?' };
        let patience = Duration::from_secs(u64::from(query.max_seconds) + 30);
        let mut tls = TlsConfig::builder();
        if uri.scheme_str() == Some("https") {
            tls = tls.root_certs(trusted().map_err(Failure::Input)?);
        }
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            // A redirect would take the password along.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("herdscope/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(patience))
            .timeout_recv_body(Some(2 * patience));
        Ok(Client {
            agent: config.build().into(),
            url: format!("{url}{joint}{PARAMETERS}"),
            host,
            user: user
                .map(str::to_owned)
                .or(password.as_ref().map(|_| "default".to_owned())),
            password,
        })
    }

    /// Asks how much there is, before anything is sent.
    fn check_size(&self, query: &Query) -> Result<(), Failure> {
        let mut response = self.ask(query.how_many())?;
        let answer = self.text(response.body_mut())?;
        let counts = Counts::parse(&answer)
            .ok_or_else(|| self.failed(&refused(response.status().as_u16(), &answer)))?;
        match too_many(counts, query) {
            Some(why) => Err(self.failed(&format!("{why} (--sample)"))),
            None => Ok(()),
        }
    }

    /// Reads the spans.
    fn read(&self, query: &Query, told: &Told) -> Result<Reading, Failure> {
        let mut body = self.ask(query.spans())?.into_body().into_reader();
        let mut reader = Reader::new(Limits::default()).telling(told.clone());
        let mut ending = Ending::default();
        let mut chunk = vec![0; 1 << 20];
        let mut end = Ok(());
        loop {
            let n = match body.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // What came before it may say why.
                Err(error) => {
                    end = Err(error);
                    break;
                }
            };
            ending.push(&chunk[..n]);
            if let Err(why) = reader.push(&chunk[..n]) {
                ending.check(query).map_err(|why| self.failed(&why))?;
                return Err(self.failed(&why.to_string()));
            }
        }
        ending.check(query).map_err(|why| self.failed(&why))?;
        end.map_err(|error| {
            self.failed(&format!("the answer cannot be read any further: {error}"))
        })?;
        reader.finish().map_err(|why| self.failed(&why.to_string()))
    }

    /// Sends a query; an answer is one of ClickHouse's.
    fn ask(&self, sql: String) -> Result<Response<Body>, Failure> {
        let mut request = self.agent.post(&self.url);
        let headers = [
            ("X-ClickHouse-User", &self.user),
            ("X-ClickHouse-Key", &self.password),
        ];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let mut response = request
            .send(sql)
            .map_err(|error| self.failed(&unreached(&error)))?;
        let status = response.status();
        if status.is_success()
            && !response
                .headers()
                .contains_key("X-ClickHouse-Exception-Code")
        {
            return Ok(response);
        }
        let said = self.text(response.body_mut())?;
        Err(self.failed(&refused(status.as_u16(), &said)))
    }

    /// An answer that is short, or its beginning.
    fn text(&self, body: &mut Body) -> Result<String, Failure> {
        const LONGEST: u64 = 64 << 10;
        let mut bytes = Vec::new();
        let read = body.as_reader().take(LONGEST).read_to_end(&mut bytes);
        // A refusal that is cut off says enough.
        match read {
            Err(error) if bytes.is_empty() => {
                Err(self.failed(&format!("the answer cannot be read: {error}")))
            }
            _ => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::Input(format::printable(&format!("{}: {why}", self.host)))
    }
}

/// The certificates that this system trusts, those of a company's own authority among them.
fn trusted() -> Result<RootCerts, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found
            .errors
            .first()
            .map_or_else(String::new, |it| format!(" ({it})"));
        return Err(format!(
            "this system trusts no certificates{why}; install its ca-certificates, or name a file of them \
             in SSL_CERT_FILE"
        ));
    }
    let owned = |der: &[u8]| Certificate::from_der(der).to_owned();
    let all: Vec<_> = found.certs.iter().map(|it| owned(it)).collect();
    Ok(RootCerts::Specific(Arc::new(all)))
}

/// Why there was no answer at all.
fn unreached(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "there is no such host; check the address".to_owned(),
        ureq::Error::Timeout(ureq::Timeout::Connect) => {
            "the server cannot be reached within 10 s; check the address and the way there"
                .to_owned()
        }
        ureq::Error::Timeout(_) => {
            "the server does not answer; take a shorter time or only some services".to_owned()
        }
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "nothing listens there; ClickHouse does for HTTP on port 8123, or 8443 with TLS"
                .to_owned()
        }
        ureq::Error::Rustls(error) => format!(
            "no trusted connection: {error}; the system has to trust the server's certificate, and port \
             8123 has none (http://)"
        ),
        other => format!("there is no answer: {other}; check the address and the way there"),
    }
}
