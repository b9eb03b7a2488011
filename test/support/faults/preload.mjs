/**
 * Loaded before the daemon with `node --import`: every change that this process makes to files below
 * one directory becomes a point where it can die or fail. The daemon knows nothing of it. What native
 * code writes (git, LMDB) does not pass here.
 *
 * GITPLANE_FAULTS is JSON:
 *   root     the directory
 *   kill     {site, nth, when, group}: die at the nth operation (from 1) of a site; any site without
 *            one. `when` is before, after, or half: half of the bytes of a write arrive.
 *   trace    a file that gets a line for each operation
 *   control  a file that may hold {code, sites} while the daemon runs: operations whose site matches
 *            fail with that code; or {kill}, as above, counted from then on
 *
 * A site is the operation and the path below the root, with ids and numbers replaced:
 * `rename repo.git/refs/heads/main`.
 */
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const settings = JSON.parse(process.env.GITPLANE_FAULTS ?? '{}');
const root = settings.root === undefined ? undefined : resolve(settings.root);
const original = { ...fs };
const trace = settings.trace && original.openSync(settings.trace, 'a');
const descriptors = new Map();
const counts = new Map();
/** Inside a synchronous operation that is made of others, which then do not count. */
let nested = 0;

function below(path) {
  if (typeof path !== 'string' && !Buffer.isBuffer(path) && !(path instanceof URL))
    return undefined;
  const text = path instanceof URL ? fileURLToPath(path) : String(path);
  const short = relative(root, resolve(text));
  return short === '..' || short.startsWith(`..${sep}`) ? undefined : short;
}

function siteOf(operation, path) {
  const plain = path
    .replace(/[0-9a-f]{8,}(-[0-9a-f]{4,})*/g, '*')
    .replace(/(\*-)?\d+(-\d+)*/g, '#')
    .replace(/[#*-]*[#*][#*-]*/g, '*');
  return `${operation} ${plain}`;
}

function die() {
  if (settings.kill.group) killChildren();
  process.kill(settings.kill.group ? -process.pid : process.pid, 'SIGKILL');
  for (;;); // Nothing of ours happens after it.
}

/** Git processes lead groups of their own. */
function killChildren() {
  if (process.platform !== 'linux') return;
  for (const pid of original.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = original.readFileSync(`/proc/${pid}/stat`, 'latin1');
      const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
      if (Number(parent) === process.pid) process.kill(-Number(pid), 'SIGKILL');
    } catch {
      // It ended, or leads no group.
    }
  }
}

function count(site) {
  const kill = settings.kill;
  if (trace) original.writeSync(trace, `${site}\n`);
  if (kill === undefined || (kill.site !== undefined && kill.site !== site)) return undefined;
  const number = (counts.get('kill') ?? 0) + 1;
  counts.set('kill', number);
  return number === (kill.nth ?? 1) ? kill.when : undefined;
}

/** Why operations fail at the moment, if they do. */
function refusal(site) {
  if (settings.control === undefined) return undefined;
  let text;
  try {
    text = original.readFileSync(settings.control, 'utf8');
  } catch {
    return undefined;
  }
  if (text === '') return undefined;
  const { code, sites, kill } = JSON.parse(text);
  settings.kill ??= kill;
  if (code === undefined) return undefined;
  return site === undefined || new RegExp(sites).test(site) ? code : undefined;
}

function failure(code, operation, path) {
  const error = new Error(`${code}: injected, ${operation} '${path}'`);
  return Object.assign(error, { code, errno: -1, syscall: operation, path });
}

function halved(args, at) {
  const copy = [...args];
  const data = copy[at];
  if (typeof data === 'string') copy[at] = data.slice(0, data.length >> 1);
  else if (Array.isArray(data)) copy[at] = data.slice(0, data.length >> 1);
  else if (data !== undefined) {
    copy[at] = data.subarray(0, data.length >> 1);
    copy.length = at + 1; // Lengths and offsets would reach past it.
  }
  return copy;
}

/** What an operation is about to do: its site, and whether it dies or fails there. */
function meet(operation, path) {
  if (path === undefined || nested > 0) return undefined;
  const site = siteOf(operation, path);
  const code = refusal(site);
  if (code !== undefined) return { code, error: failure(code, operation, path) };
  const when = count(site);
  if (when === 'before') die();
  return { when };
}

const WRITING = /[wa+]/;
function isWriting(flags) {
  if (flags === undefined) return false;
  if (typeof flags === 'string') return WRITING.test(flags);
  return (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR)) !== 0;
}

/** For each operation: which argument is the path, and which one the bytes. */
const PATHS = {
  rename: 1,
  link: 1,
  symlink: 1,
  copyFile: 1,
  unlink: 0,
  rm: 0,
  rmdir: 0,
  mkdir: 0,
  truncate: 0,
  chmod: 0,
  utimes: 0,
};
const DESCRIPTORS = {
  fsync: {},
  fdatasync: {},
  ftruncate: {},
  write: { data: 1 },
  writev: { data: 1 },
};
const HANDLES = {
  sync: 'fsync',
  datasync: 'fdatasync',
  truncate: 'ftruncate',
  write: 'write',
  writev: 'writev',
  writeFile: 'writeFile',
  appendFile: 'writeFile',
};

function wrapSync(name, operation, where, data) {
  const own = fs[name];
  fs[name] = (...args) => {
    const met = meet(operation, where(args));
    if (met?.error) throw met.error;
    nested += 1;
    try {
      if (met?.when === 'half') {
        if (data !== undefined) own(...halved(args, data));
        die();
      }
      const result = own(...args);
      if (met?.when === 'after') die();
      return result;
    } finally {
      nested -= 1;
    }
  };
}

function wrapCallback(name, operation, where, data) {
  const own = fs[name];
  fs[name] = (...args) => {
    const done = args.at(-1);
    if (typeof done !== 'function') return own(...args);
    const met = meet(operation, where(args));
    if (met?.error) return process.nextTick(done, met.error);
    const dies = met?.when === 'after' || met?.when === 'half';
    const rest = args.slice(0, -1);
    const given = met?.when === 'half' && data !== undefined ? halved(rest, data) : rest;
    return own(...given, (...results) => (dies ? die() : done(...results)));
  };
  for (const symbol of Object.getOwnPropertySymbols(own)) fs[name][symbol] = own[symbol];
  delete fs[name][promisify.custom];
}

function wrapPromise(target, name, { operation, where, data }) {
  const own = target[name];
  target[name] = async function wrapped(...args) {
    const met = meet(operation, where.call(this, args));
    if (met?.error) throw met.error;
    const half = met?.when === 'half';
    const result = await own.apply(this, half && data !== undefined ? halved(args, data) : args);
    if (half || met?.when === 'after') die();
    return result;
  };
}

function wrapOpening() {
  const openSync = fs.openSync;
  fs.openSync = (path, flags, ...more) => {
    const place = below(path);
    const met = isWriting(flags) ? meet('open', place) : undefined;
    if (met?.error) throw met.error;
    const fd = openSync(path, flags, ...more);
    if (met?.when !== undefined) die();
    if (place !== undefined) descriptors.set(fd, place);
    return fd;
  };
  const open = fs.open;
  fs.open = (path, ...args) => {
    const done = args.pop();
    const place = below(path);
    const met = isWriting(args[0]) ? meet('open', place) : undefined;
    if (met?.error) return process.nextTick(done, met.error);
    return open(path, ...args, (error, fd) => {
      if (met?.when !== undefined) die();
      if (!error && place !== undefined) descriptors.set(fd, place);
      done(error, fd);
    });
  };
  const closeSync = fs.closeSync;
  fs.closeSync = (fd) => {
    descriptors.delete(fd);
    closeSync(fd);
  };
  const close = fs.close;
  fs.close = (fd, ...done) => {
    descriptors.delete(fd);
    close(fd, ...done);
  };
  const openPromise = promises.open;
  promises.open = async (path, flags, ...more) => {
    const place = below(path);
    const met = isWriting(flags) ? meet('open', place) : undefined;
    if (met?.error) throw met.error;
    const handle = await openPromise(path, flags, ...more);
    if (met?.when !== undefined) die();
    if (place !== undefined) places.set(handle, place);
    return handle;
  };
}

/** Of file handles: the numbers of descriptors are used again. */
const places = new WeakMap();

async function wrapAll() {
  const probe = await promises.open(fileURLToPath(import.meta.url), 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  for (const [name, at] of Object.entries(PATHS)) {
    const where = (args) => below(args[at]);
    wrapSync(`${name}Sync`, name, where);
    wrapCallback(name, name, where);
    wrapPromise(promises, name, { operation: name, where });
  }
  for (const [name, { data }] of Object.entries(DESCRIPTORS)) {
    const where = ([fd]) => descriptors.get(fd);
    wrapSync(`${name}Sync`, name, where, data);
    wrapCallback(name, name, where, data);
  }
  const whole = ([file]) => (typeof file === 'number' ? descriptors.get(file) : below(file));
  wrapSync('writeFileSync', 'writeFile', whole, 1);
  wrapSync('appendFileSync', 'writeFile', whole, 1);
  const wholePromise = ([file]) => places.get(file) ?? below(file);
  for (const name of ['writeFile', 'appendFile']) {
    wrapPromise(promises, name, { operation: 'writeFile', where: wholePromise, data: 1 });
  }
  for (const [name, operation] of Object.entries(HANDLES)) {
    const writes = operation.startsWith('write');
    wrapPromise(handles, name, {
      operation,
      where() {
        return places.get(this);
      },
      data: writes ? 0 : undefined,
    });
  }
  wrapOpening();
  const statfsSync = fs.statfsSync;
  fs.statfsSync = (...args) => {
    const stats = statfsSync(...args);
    return refusal() === 'ENOSPC' ? Object.assign(stats, { bavail: 0, bfree: 0 }) : stats;
  };
  syncBuiltinESMExports();
}

/** A test that was cut off leaves no daemon behind. */
function endWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, 500);
  timer.unref();
}

if (root !== undefined) {
  await wrapAll();
  endWithParent();
}
