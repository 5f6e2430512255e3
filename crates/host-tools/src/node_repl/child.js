// The child of NodeRepl: evaluates one frame of code after the other and answers each with one frame.
// A frame is "<token> <bytes>\n" and that many bytes of JSON. The token is the first line of the input.
'use strict';
const fs = require('node:fs');
const repl = require('node:repl');
const util = require('node:util');
const { PassThrough } = require('node:stream');

const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;
let token = null;
let pending = Buffer.alloc(0);
let printed = { stdout: [], stderr: [], bytes: 0 };
const queue = [];
let working = false;

function send(answer) {
  const body = Buffer.from(JSON.stringify(answer));
  let rest = Buffer.concat([Buffer.from(`${token} ${body.length}\n`), body]);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(1);
    }
  }
}

function capture(name) {
  return (chunk, encoding, done) => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    printed.bytes += Buffer.byteLength(text);
    if (printed.bytes > OUTPUT_BYTES_MAX) {
      send({ overflow: true });
      process.exit(1);
    }
    printed[name].push(text);
    const after = typeof encoding === 'function' ? encoding : done;
    if (typeof after === 'function') process.nextTick(after);
    return true;
  };
}
process.stdout.write = capture('stdout');
process.stderr.write = capture('stderr');

const complain = (error) => process.stderr.write(`Uncaught ${util.inspect(error)}\n`);
process.on('uncaughtException', complain);
process.on('unhandledRejection', complain);

const server = repl.start({
  input: new PassThrough(),
  output: new PassThrough().resume(),
  prompt: '',
  terminal: false,
  useGlobal: true,
});
let last;
let lastError;
let settle = null;
// The session's own evaluator hands what is thrown to its domain, not to the callback.
if (server._domain) {
  server._domain.removeAllListeners('error');
  server._domain.on('error', (error) => (settle ? settle(error) : complain(error)));
}
Object.defineProperty(globalThis, '_', { get: () => last, set: (value) => { last = value; }, configurable: true });
Object.defineProperty(globalThis, '_error', {
  get: () => lastError, set: (value) => { lastError = value; }, configurable: true,
});

function finish(answer) {
  answer.stdout = printed.stdout.join('');
  answer.stderr = printed.stderr.join('');
  printed = { stdout: [], stderr: [], bytes: 0 };
  send(answer);
  working = false;
  next();
}

function next() {
  if (working || queue.length === 0) return;
  working = true;
  const code = queue.shift();
  settle = (error, value) => {
    settle = null;
    const failed = error !== null && error !== undefined;
    const thrown = failed && error instanceof repl.Recoverable ? error.err : error;
    if (failed) lastError = thrown; else last = value;
    const options = { depth: 4, maxArrayLength: 200, maxStringLength: 100000, breakLength: 100 };
    let shown;
    try {
      shown = util.inspect(failed ? thrown : value, options);
    } catch (odd) {
      shown = `[a value that cannot be shown: ${odd}]`;
    }
    // What the code printed through streams arrives with the next turn of the loop.
    setImmediate(() => finish(failed ? { error: shown } : { value: shown }));
  };
  const mine = settle;
  server.eval(`${code}\n`, server.context, 'repl', (error, value) => {
    if (settle === mine) mine(error, value);
  });
}

process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (chunk) => {
  pending = Buffer.concat([pending, chunk]);
  for (;;) {
    const end = pending.indexOf(10);
    if (end < 0) return;
    const line = pending.subarray(0, end).toString();
    if (token === null) {
      token = line;
      pending = pending.subarray(end + 1);
      send({ ready: true });
      continue;
    }
    const [said, length] = line.split(' ');
    if (said !== token) process.exit(1);
    const bytes = Number(length);
    if (pending.length < end + 1 + bytes) return;
    queue.push(JSON.parse(pending.subarray(end + 1, end + 1 + bytes).toString()).code);
    pending = pending.subarray(end + 1 + bytes);
    next();
  }
});
