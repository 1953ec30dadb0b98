//! What a breaker and its companions do, over real connections on loopback.
//!
//! ```text
//! cargo run -p halfopen --example herd
//! ```
//!
//! **The herd.** A service has a cold cache after each start: it answers 100
//! requests a second and is asked for 180. With 16 requests queued its memory
//! is full, and it is killed and starts again, cold. Three clients call it,
//! each with a breaker of its own. At 1 s it is deployed. The same without a
//! ramp-up, with one, and with one where the service stays too small for good.
//!
//! **The slow dependency.** A shop has 12 threads for two things: a catalog,
//! which calls a dependency, and a cart, which does not. The dependency goes
//! slow, then dead, then comes back; the same with ever more layers.
//!
//! Everything is on 127.0.0.1 and stops by itself after some 20 s. At most 250
//! connections are open at a time.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halfopen::companions::{
    BudgetSettings, Call, Deadline, Ended, Failure, Request, Retried, RetrySettings, Stack,
    StackPermit, StackRejected, StackSettings, TimeoutSettings,
};
use halfopen::{Cause, Config, State};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    the_herd()?;
    the_slow_dependency()
}

// The herd.

/// Clients, each with its own breaker, and what each asks for.
const CLIENTS: usize = 3;
const CALLS_PER_SECOND: u32 = 60;
/// A client's threads; each is back before its next turn, as the timeouts are
/// shorter than `CLIENT_THREADS / CALLS_PER_SECOND`.
const CLIENT_THREADS: u32 = 16;
const HERD_SECONDS: u32 = 10;

struct Herd {
    title: &'static str,
    server: Server,
    clients: Vec<Arc<Client>>,
    /// Which breakers have found the service back since it was deployed.
    found_back: [bool; CLIENTS],
    /// How often one that had opened again.
    reopened: u32,
    /// Answers and failures since it was deployed.
    answers: u32,
    failures: u32,
}

struct Client {
    stack: Mutex<Stack>,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    ok: AtomicU32,
    failed: AtomicU32,
    rejected: AtomicU32,
}

fn the_herd() -> Result<(), Error> {
    println!("The herd: a service with a cold cache answers 100/s and is asked for 180/s.");
    println!(
        "At 1 s it is deployed. Breakers of the three clients: c closed, o open, h half-open,"
    );
    println!("r ramping; then answers, failures, rejections in that second.\n");

    let breaker = "window=20 min=10 fail=50% open=600ms probes=3 lease=1s";
    let ramp = format!("{breaker} ramp=10%/25%/50%/100%@800ms");
    let warms_up = Dependency {
        workers: 4,
        cold: Duration::from_millis(40),
        warm: Duration::from_millis(5),
        warm_after: 175,
        memory: 16,
        restart: Duration::from_millis(300),
    };
    let too_small = Dependency {
        warm_after: u32::MAX,
        ..warms_up
    };
    let mut herds = [
        Herd::new("without ramp-up", breaker, warms_up)?,
        Herd::new("with ramp-up", &ramp, warms_up)?,
        Herd::new("with ramp-up, too small", &ramp, too_small)?,
    ];

    let stop = AtomicBool::new(false);
    let titles = herds.each_ref().map(|it| format!("{:^26}", it.title));
    println!("        {}", titles.join(" | "));
    thread::scope(|scope| {
        let begin = Instant::now();
        for herd in &herds {
            for (nth, client) in herd.clients.iter().enumerate() {
                for turn in 0..CLIENT_THREADS {
                    let (client, stop, addr) = (client.clone(), &stop, herd.server.addr);
                    scope.spawn(move || client.run(addr, begin, nth as u32, turn, stop));
                }
            }
        }
        for second in 1..=HERD_SECONDS {
            sleep_until(begin + Duration::from_secs(u64::from(second)));
            let cells = herds.each_mut().map(|it| it.second(second > 1));
            println!("  {second:>2} s  {}", cells.join(" | "));
            if second == 1 {
                herds.iter().for_each(|it| it.server.kill());
                println!("        deployed");
            }
        }
        stop.store(true, Relaxed);
    });

    println!();
    for herd in &herds {
        let kills = herd.server.shared.kills.load(Relaxed) - 1;
        let verdict = match herd.reopened {
            0 => "held".into(),
            n => format!("trampled, breakers opened again {n} times"),
        };
        let (title, answers, failures) = (herd.title, herd.answers, herd.failures);
        println!(
            "  {title}: {verdict}; killed {kills} times; {answers} answers, {failures} failures"
        );
    }
    println!(
        "\n  Ramp-up helps because the service warms up under the little it gets. Where it stays\n  \
         too small it does not: the ramp goes back to open at the share that is too much, over\n  \
         and over. That service needs less load, or more of itself.\n"
    );
    Ok(())
}

impl Herd {
    fn new(title: &'static str, breaker: &str, dependency: Dependency) -> Result<Herd, Error> {
        let client = || -> Result<Arc<Client>, Error> {
            let stack = Stack::new(StackSettings {
                timeout: TimeoutSettings {
                    connect: Some(ms(100)),
                    read: Some(ms(120)),
                },
                breaker: breaker.parse::<Config>()?,
                ..StackSettings::default()
            })?;
            let tally = Tally::default();
            Ok(Arc::new(Client {
                stack: Mutex::new(stack),
                tally,
            }))
        };
        Ok(Herd {
            title,
            server: Server::start(dependency)?,
            clients: (0..CLIENTS).map(|_| client()).collect::<Result<_, _>>()?,
            found_back: [false; CLIENTS],
            reopened: 0,
            answers: 0,
            failures: 0,
        })
    }

    /// What happened since the last time, in 26 characters.
    fn second(&mut self, deployed: bool) -> String {
        for (client, found_back) in self.clients.iter().zip(&mut self.found_back) {
            let mut stack = lock(&client.stack);
            for it in stack.breaker_mut().drain_transitions() {
                let opened = it.from != State::HalfOpen && it.to == State::Open;
                self.reopened += u32::from(*found_back && opened);
                *found_back |= it.cause == Cause::ProbesPassed;
            }
        }
        let sum = |part: fn(&Tally) -> &AtomicU32| -> u32 {
            let parts = self
                .clients
                .iter()
                .map(|it| part(&it.tally).swap(0, Relaxed));
            parts.sum()
        };
        let (ok, failed) = (sum(|it| &it.ok), sum(|it| &it.failed));
        let rejected = sum(|it| &it.rejected);
        if deployed {
            self.answers += ok;
            self.failures += failed;
        }
        format!(
            "{} {ok:>3} ok {failed:>3} bad {rejected:>3} rej",
            self.states()
        )
    }

    fn states(&self) -> String {
        let states = self
            .clients
            .iter()
            .map(|it| match lock(&it.stack).breaker().state() {
                State::Open => 'o',
                State::HalfOpen => 'h',
                State::Ramping => 'r',
                _ => 'c',
            });
        states.collect()
    }
}

impl Client {
    /// Makes every `CLIENT_THREADS`-th call of this client.
    fn run(&self, addr: SocketAddr, begin: Instant, nth: u32, turn: u32, stop: &AtomicBool) {
        let gap = Duration::from_secs(1) / CALLS_PER_SECOND;
        let mut due = begin + gap * turn + gap * nth / CLIENTS as u32;
        loop {
            sleep_until(due);
            if stop.load(Relaxed) {
                return;
            }
            let mut call = Call::new(Request::Idempotent, Deadline::NEVER);
            let tally = &self.tally;
            match attempt(&self.stack, addr, &mut call) {
                Ok(Retried::Done) => &tally.ok,
                Ok(_) => &tally.failed,
                Err(_) => &tally.rejected,
            }
            .fetch_add(1, Relaxed);
            due += gap * CLIENT_THREADS;
        }
    }
}

// The slow dependency.

/// Threads of the shop, and what it is asked for.
const SHOP_THREADS: usize = 12;
const JOBS_PER_SECOND: u32 = 200;
const PHASE: Duration = Duration::from_secs(2);
/// How long those wait who ask for the cart.
const PATIENCE: Duration = Duration::from_millis(100);
/// Jobs that wait for a thread; more are turned away.
const BACKLOG: usize = 256;

struct Shop {
    title: &'static str,
    stack: Mutex<Stack>,
    /// How long a catalog may take with its retries.
    deadline: Option<u64>,
    /// Whether the catalog of an hour ago is better than none.
    fallback: bool,
    dependency: Server,
    jobs: Mutex<VecDeque<(Job, Instant)>>,
    ready: Condvar,
    busy: AtomicUsize,
    stop: AtomicBool,
    figures: Mutex<Figures>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    /// Calls the dependency.
    Catalog,
    /// Does not.
    Cart,
}

/// What stands between the catalog and its dependency.
#[derive(Clone, Copy, Default)]
struct Layers<'a> {
    timeout: bool,
    /// Its settings.
    breaker: Option<&'a str>,
    /// Of the bulkhead.
    places: Option<u32>,
    retries: bool,
    budget: bool,
    /// The catalog of an hour ago instead of none.
    fallback: bool,
}

/// Of one phase.
#[derive(Default)]
struct Figures {
    carts: u32,
    carts_in_time: u32,
    live: u32,
    cached: u32,
    failed: u32,
    /// Attempts that reached the dependency, or tried to.
    sent: u32,
    /// How long each catalog job took, once it had a thread.
    took: Vec<Duration>,
    most_busy: usize,
}

fn the_slow_dependency() -> Result<(), Error> {
    println!(
        "The slow dependency: a shop with 12 threads is asked for 100 catalogs and 100 carts a"
    );
    println!(
        "second. Only the catalog needs the dependency. Carts in time; catalogs answered, from"
    );
    println!("the cache, failed; attempts sent; a catalog's median time; threads busy at most.\n");

    let breaker = "window=20 min=10 fail=50% slow=50%@150ms open=500ms probes=3 lease=1s";
    let ramp = format!("{breaker} ramp=25%/50%/100%@200ms");
    let nothing = Layers::default();
    let timeout = Layers {
        timeout: true,
        ..nothing
    };
    let bulkhead = Layers {
        places: Some(6),
        ..timeout
    };
    let retries = Layers {
        retries: true,
        ..timeout
    };
    let budget = Layers {
        budget: true,
        ..retries
    };
    let breaker = Layers {
        breaker: Some(breaker),
        ..timeout
    };
    let fallback = Layers {
        fallback: true,
        ..breaker
    };
    let all = Layers {
        timeout: true,
        breaker: Some(&ramp),
        places: Some(6),
        retries: true,
        budget: true,
        fallback: true,
    };
    let shops = [
        Shop::new("nothing", nothing)?,
        Shop::new("timeout", timeout)?,
        Shop::new("timeout, bulkhead", bulkhead)?,
        Shop::new("timeout, retries", retries)?,
        Shop::new("  and retry budget", budget)?,
        Shop::new("timeout, breaker", breaker)?,
        Shop::new("  and fallback", fallback)?,
        Shop::new("all, and ramp-up", all)?,
    ];
    let phases = [
        ("answers in 5 ms", Mode::Up),
        ("is slow: 1.5 s", Mode::Slow),
        ("is dead: connections are refused", Mode::Dead),
        ("is back", Mode::Up),
    ];

    thread::scope(|scope| {
        let begin = Instant::now();
        for shop in &shops {
            scope.spawn(move || shop.ask(begin));
            for _ in 0..SHOP_THREADS {
                scope.spawn(|| shop.work());
            }
        }
        for (nth, (title, mode)) in (1..).zip(phases) {
            shops
                .iter()
                .for_each(|it| it.dependency.shared.mode.store(mode as u8, Relaxed));
            sleep_until(begin + PHASE * nth);
            println!("  The dependency {title}");
            for shop in &shops {
                println!("    {:<18} {}", shop.title, shop.phase());
            }
        }
        for shop in &shops {
            shop.stop.store(true, Relaxed);
            shop.dependency.shared.stop.store(true, Relaxed);
            shop.ready.notify_all();
        }
    });

    println!(
        "\n  Without a timeout the slow dependency has all threads, and carts fail that never\n  \
         needed it. A timeout alone is not enough when there are more calls than threads for\n  \
         that long, and retries add to them. A bulkhead keeps threads for the others, a\n  \
         breaker stops asking, and a fallback has an answer meanwhile. Dead is kinder than\n  \
         slow, as it is refused at once; what retries send in vain, a budget bounds."
    );
    Ok(())
}

impl Shop {
    fn new(title: &'static str, layers: Layers<'_>) -> Result<Shop, Error> {
        let limit = |it| layers.timeout.then_some(ms(it));
        let mut stack = Stack::new(StackSettings {
            timeout: TimeoutSettings {
                connect: limit(100),
                read: limit(200),
            },
            breaker: layers.breaker.unwrap_or_default().parse::<Config>()?,
            max_concurrent: layers.places,
            retry: layers.retries.then(RetrySettings::default),
            budget: layers.budget.then_some(BudgetSettings::AWS),
            ..StackSettings::default()
        })?;
        if layers.breaker.is_none() {
            stack.breaker_mut().disable(now());
        }
        let dependency = Server::start(Dependency {
            workers: usize::MAX,
            cold: Duration::from_millis(5),
            warm: Duration::from_millis(5),
            warm_after: 1,
            memory: usize::MAX,
            restart: Duration::ZERO,
        })?;
        Ok(Shop {
            title,
            stack: Mutex::new(stack),
            deadline: layers.retries.then_some(ms(400)),
            fallback: layers.fallback,
            dependency,
            jobs: Mutex::default(),
            ready: Condvar::new(),
            busy: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            figures: Mutex::default(),
        })
    }

    /// A catalog and a cart in turn.
    fn ask(&self, begin: Instant) {
        let mut due = begin;
        for job in [Job::Catalog, Job::Cart].into_iter().cycle() {
            sleep_until(due);
            if self.stop.load(Relaxed) {
                return;
            }
            let mut jobs = lock(&self.jobs);
            if jobs.len() < BACKLOG {
                jobs.push_back((job, due));
                self.ready.notify_one();
            } else {
                self.done(job, due, None);
            }
            drop(jobs);
            due += Duration::from_secs(1) / JOBS_PER_SECOND;
        }
    }

    fn work(&self) {
        loop {
            let jobs = lock(&self.jobs);
            let idle = |jobs: &mut VecDeque<_>| jobs.is_empty() && !self.stop.load(Relaxed);
            let waited = self.ready.wait_while(jobs, idle);
            let mut jobs = waited.unwrap_or_else(PoisonError::into_inner);
            if self.stop.load(Relaxed) {
                return;
            }
            let Some((job, since)) = jobs.pop_front() else {
                continue;
            };
            drop(jobs);
            let busy = self.busy.fetch_add(1, Relaxed) + 1;
            {
                let mut figures = lock(&self.figures);
                figures.most_busy = figures.most_busy.max(busy);
            }
            let begin = Instant::now();
            let source = match job {
                Job::Catalog => self.catalog(),
                Job::Cart => {
                    thread::sleep(Duration::from_millis(2));
                    Some(Source::Live)
                }
            };
            if job == Job::Catalog {
                lock(&self.figures).took.push(begin.elapsed());
            }
            self.done(job, since, source);
            self.busy.fetch_sub(1, Relaxed);
        }
    }

    /// The catalog from the dependency, with retries where they are set up; or
    /// from the cache; or not.
    fn catalog(&self) -> Option<Source> {
        let deadline = match self.deadline {
            Some(budget) => Deadline::after(now(), budget),
            None => Deadline::NEVER,
        };
        let mut call = Call::new(Request::of_http_method("GET"), deadline);
        let addr = self.dependency.addr;
        loop {
            let attempt = attempt(&self.stack, addr, &mut call);
            lock(&self.figures).sent += u32::from(attempt.is_ok());
            match attempt {
                Ok(Retried::Done) => return Some(Source::Live),
                Ok(Retried::At(at)) => {
                    let wait = at.saturating_sub(now()).max(0);
                    thread::sleep(Duration::from_nanos(wait as u64));
                }
                Ok(_) | Err(_) => return self.fallback.then_some(Source::Cache),
            }
        }
    }

    fn done(&self, job: Job, since: Instant, source: Option<Source>) {
        let mut figures = lock(&self.figures);
        match (job, source) {
            (Job::Cart, source) => {
                figures.carts += 1;
                figures.carts_in_time += u32::from(source.is_some() && since.elapsed() <= PATIENCE);
            }
            (Job::Catalog, Some(Source::Live)) => figures.live += 1,
            (Job::Catalog, Some(Source::Cache)) => figures.cached += 1,
            (Job::Catalog, None) => figures.failed += 1,
        }
    }

    /// The figures of a phase, which is over.
    fn phase(&self) -> String {
        let mut figures = std::mem::take(&mut *lock(&self.figures));
        figures.took.sort();
        let median = figures.took.get(figures.took.len() / 2);
        let median = median.map_or("     -".into(), |it| {
            format!("{:>6.1}", it.as_secs_f64() * 1e3)
        });
        // Those who still wait count as well.
        let late = lock(&self.jobs)
            .iter()
            .filter(|(job, since)| *job == Job::Cart && since.elapsed() > PATIENCE)
            .count() as u32;
        let carts = (figures.carts + late).max(1);
        format!(
            "carts {:>3}%  catalogs {:>3} live {:>3} cached {:>3} failed {:>3} sent {median} ms {:>2} busy",
            figures.carts_in_time * 100 / carts,
            figures.live,
            figures.cached,
            figures.failed,
            figures.sent,
            figures.most_busy,
        )
    }
}

enum Source {
    Live,
    Cache,
}

// One attempt through a stack.

/// What follows it; nothing when it went well.
fn attempt(
    stack: &Mutex<Stack>,
    addr: SocketAddr,
    call: &mut Call,
) -> Result<Retried, StackRejected> {
    let mut permit = lock(stack).acquire(now(), call)?;
    let ended = match exchange(addr, &mut permit) {
        Ok(()) => Ended::Success,
        Err(err) if matches!(err.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            Ended::Failed(Failure::Timeout)
        }
        Err(_) => Ended::Failed(Failure::Transient),
    };
    Ok(lock(stack).settle(now(), permit, call, ended))
}

/// Sends a byte, receives a byte, each phase as long as its timer says.
fn exchange(addr: SocketAddr, permit: &mut StackPermit) -> std::io::Result<()> {
    let left = |permit: &StackPermit| {
        // Who sets no timeout has that of somebody else.
        let left = permit.timer().remaining(now()).unwrap_or(ms(5_000));
        Duration::from_nanos(left.max(ms(1)))
    };
    let mut stream = TcpStream::connect_timeout(&addr, left(permit))?;
    if permit.connected(now()).is_err() {
        return Err(ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left(permit)))?;
    stream.write_all(&[1])?;
    stream.read_exact(&mut [0])
}

// The service.

/// A service with so many workers. An answer takes `cold` after a start, and
/// less with each, down to `warm` after `warm_after` of them.
#[derive(Clone, Copy)]
struct Dependency {
    workers: usize,
    cold: Duration,
    warm: Duration,
    warm_after: u32,
    /// With more requests queued it is killed.
    memory: usize,
    /// How long it takes to start again.
    restart: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Up,
    Slow,
    Dead,
}

struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    mode: AtomicU8,
    killed: AtomicBool,
    kills: AtomicU32,
    stop: AtomicBool,
}

impl Server {
    /// Starts it, warm. One thread serves all connections, by a timer for each.
    fn start(settings: Dependency) -> Result<Server, Error> {
        let listener = listen()?;
        let addr = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let thread = thread::spawn({
            let shared = shared.clone();
            move || serve(settings, addr, listener, &shared)
        });
        Ok(Server {
            addr,
            shared,
            thread: Some(thread),
        })
    }

    fn kill(&self) {
        self.shared.killed.store(true, Relaxed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Below the ports that outgoing connections have: a client of a dead service
/// could otherwise be given the service's port, and connect to itself.
fn listen() -> Result<TcpListener, Error> {
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    for port in first..first + 2_000 {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            listener.set_nonblocking(true)?;
            return Ok(listener);
        }
    }
    Err("no free port on 127.0.0.1".into())
}

fn serve(settings: Dependency, addr: SocketAddr, listener: TcpListener, shared: &Shared) {
    let mut listener = Some(listener);
    let mut queue = VecDeque::new();
    let mut working: Vec<(Instant, TcpStream)> = Vec::new();
    let mut answered = settings.warm_after;
    let mut back = Instant::now();
    // Too small for good: warm until the first kill.
    if settings.warm_after == u32::MAX {
        answered = u32::MAX;
    }
    while !shared.stop.load(Relaxed) {
        let now = Instant::now();
        let mode = shared.mode.load(Relaxed);
        if shared.killed.swap(false, Relaxed) || queue.len() > settings.memory {
            shared.kills.fetch_add(1, Relaxed);
            (listener, answered) = (None, 0);
            queue.clear();
            working.clear();
            back = now + settings.restart;
        }
        if mode == Mode::Dead as u8 {
            listener = None;
            working.clear();
        } else if listener.is_none() && now >= back {
            listener = TcpListener::bind(addr).ok();
            if let Some(listener) = &listener {
                // Without it the thread would wait in `accept`, and not stop.
                if listener.set_nonblocking(true).is_err() {
                    return;
                }
            }
        }
        while let Some(Ok((stream, _))) = listener.as_ref().map(TcpListener::accept) {
            queue.push_back(stream);
        }
        working.retain_mut(|(due, stream)| {
            let over = now >= *due;
            if over {
                answered = answered.saturating_add(1);
                // The client may have gone; the work is done all the same.
                let _ = stream.set_nonblocking(true);
                let _ = stream.read(&mut [0; 8]);
                let _ = stream.write_all(&[1]);
            }
            !over
        });
        while working.len() < settings.workers
            && let Some(stream) = queue.pop_front()
        {
            let takes = if mode == Mode::Slow as u8 {
                Duration::from_millis(1_500)
            } else {
                let warmth = f64::from(answered.min(settings.warm_after));
                let warmth = warmth / f64::from(settings.warm_after);
                settings.cold - (settings.cold - settings.warm).mul_f64(warmth)
            };
            working.push((now + takes, stream));
        }
        thread::sleep(Duration::from_micros(500));
    }
}

// Small things.

/// Nanoseconds since the program began to ask.
fn now() -> i64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    let elapsed = EPOCH.get_or_init(Instant::now).elapsed();
    i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX)
}

fn ms(ms: u64) -> u64 {
    ms * 1_000_000
}

fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
