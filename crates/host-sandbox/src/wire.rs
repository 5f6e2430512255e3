//! What the host tells the helper, byte for byte. This file is a part of both programs, which are always built
//! together, so the form has no versions.

/// The first of the numbers at which a helper finds its descriptors. Lower ones are where they arrive.
pub(crate) const FIRST: i32 = 256;
/// The order itself: a file in memory.
pub(crate) const ORDER: i32 = FIRST;
/// The command's three streams.
pub(crate) const STDIN: i32 = FIRST + 1;
pub(crate) const STDOUT: i32 = FIRST + 2;
pub(crate) const STDERR: i32 = FIRST + 3;
/// A byte asks everyone in the tree to end; closing it ends the tree.
pub(crate) const CONTROL: i32 = FIRST + 4;
/// Where the helper says in lines what happens.
pub(crate) const STATUS: i32 = FIRST + 5;
/// A Landlock ruleset.
pub(crate) const RULESET: i32 = FIRST + 6;
/// Where the helper hands out the port that it opened.
pub(crate) const FORWARD: i32 = FIRST + 7;
/// Where the outermost process complains. From here on nothing is for the helper inside.
pub(crate) const COMPLAINTS: i32 = FIRST + 8;
/// The engine's options.
pub(crate) const OPTIONS: i32 = FIRST + 9;
/// The helper's own program, for the start inside.
pub(crate) const PROGRAM: i32 = FIRST + 10;
/// The first of what the options speak of by number.
pub(crate) const BOUND: i32 = FIRST + 16;

/// The first argument of a helper that waits for orders and forks a tree for each.
pub(crate) const FORKER_WORD: &str = "forker";
/// The first argument of a helper that is process 1 of a namespace.
pub(crate) const INIT_WORD: &str = "init";

/// What the helper is in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Process 1 of a namespace: its end is everybody's end.
    Init,
    /// A collector of orphans among the host's other processes.
    Subreaper,
}

/// One child. It travels in a memory file, so that neither arguments nor environment stand in a command line
/// that others can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) role: Role,
    /// The engine's program and its arguments; with none the forked process is the helper itself.
    pub(crate) wrap: Vec<Vec<u8>>,
    /// The user and group to become first, where the host is root.
    pub(crate) user: Option<(u32, u32)>,
    /// Give up every capability before the command begins.
    pub(crate) powerless: bool,
    pub(crate) cwd: Vec<u8>,
    /// Where the program may be, in order.
    pub(crate) places: Vec<Vec<u8>>,
    pub(crate) argv: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub(crate) env: Vec<Vec<u8>>,
    /// Bounds by the kernel's numbers.
    pub(crate) rlimits: Vec<(u64, u64)>,
    /// Bounds on the whole tree, which the helper watches.
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) pids_max: Option<u64>,
    /// A system-call filter as the kernel takes it; empty = none.
    pub(crate) filter: Vec<u8>,
    /// Whether a ruleset came along.
    pub(crate) ruleset: bool,
    /// A loopback port to open and to hand out.
    pub(crate) forward: Option<u64>,
}

impl Order {
    /// As bytes. Only the host writes orders.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        number(&mut out, u64::from(self.role == Role::Init));
        list(&mut out, &self.wrap);
        option(&mut out, self.user.map(|(uid, gid)| u64::from(uid) << 32 | u64::from(gid)));
        number(&mut out, u64::from(self.powerless));
        text(&mut out, &self.cwd);
        list(&mut out, &self.places);
        list(&mut out, &self.argv);
        list(&mut out, &self.env);
        number(&mut out, self.rlimits.len() as u64);
        for (resource, most) in &self.rlimits {
            number(&mut out, *resource);
            number(&mut out, *most);
        }
        option(&mut out, self.memory_bytes_max);
        option(&mut out, self.pids_max);
        text(&mut out, &self.filter);
        number(&mut out, u64::from(self.ruleset));
        option(&mut out, self.forward);
        out
    }

    /// From bytes; `None` = they are none of ours. Only the helper reads orders.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let order = Order {
            role: if from.number()? == 1 { Role::Init } else { Role::Subreaper },
            wrap: from.list()?,
            user: from.option()?.map(|both| ((both >> 32) as u32, both as u32)),
            powerless: from.number()? == 1,
            cwd: from.text()?,
            places: from.list()?,
            argv: from.list()?,
            env: from.list()?,
            rlimits: {
                let count = from.number()?;
                (0..count).map(|_| Some((from.number()?, from.number()?))).collect::<Option<_>>()?
            },
            memory_bytes_max: from.option()?,
            pids_max: from.option()?,
            filter: from.text()?,
            ruleset: from.number()? == 1,
            forward: from.option()?,
        };
        from.0.is_empty().then_some(order)
    }
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn option(out: &mut Vec<u8>, value: Option<u64>) {
    number(out, u64::from(value.is_some()));
    number(out, value.unwrap_or(0));
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    number(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn list(out: &mut Vec<u8>, list: &[Vec<u8>]) {
    number(out, list.len() as u64);
    list.iter().for_each(|item| text(out, item));
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn option(&mut self) -> Option<Option<u64>> {
        let (there, value) = (self.number()?, self.number()?);
        Some((there == 1).then_some(value))
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text.to_vec())
    }

    fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }
}
