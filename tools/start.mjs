/**
 * `npm start`, which also works in a fresh clone: checks Node, installs, builds what changed, and runs `fairlead up
 * --demo` in this process. With `--prepare-only` it exits after the build (`npm test` starts with it). Plain JavaScript
 * without dependencies, in syntax that Node 12 can parse: an old Node must be able to print that it is too old.
 */
import { spawn } from 'child_process';
import { createHash, randomBytes } from 'crypto';
import fs from 'fs';
import os from 'os';
import path from 'path';
import { fileURLToPath, pathToFileURL } from 'url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MAIN = path.join(ROOT, 'apps', 'cli', 'dist', 'main.js');
/** The bundle, which starts faster. */
const BUNDLE = path.join(ROOT, 'apps', 'cli', 'dist', 'bundle.mjs');
const REFERENCE = path.join(ROOT, 'docs', 'cli.md');
const STATE = path.join(ROOT, '.fairlead', 'start');
const LOCK = path.join(STATE, 'lock');
const BUILD_STAMP = path.join(STATE, 'build.sha256');
const INSTALL_STAMP = path.join(ROOT, 'node_modules', '.fairlead-lock.sha256');
const NPM_WRITES_WITHIN_MS = 2000;
const WAIT_TIMEOUT_MS = 15 * 60 * 1000;
const WAIT_POLL_MS = 250;

/** A failure that is not a bug: the message states what to do. */
class Refusal extends Error {}

async function main(args) {
  refuseOldNode();
  const passedOn = args.filter((arg) => arg !== '--prepare-only');
  if (passedOn.some(isHelp) && !isPrepared()) return help();
  await prepare();
  if (passedOn.length !== args.length) return undefined;
  if (passedOn.indexOf('--once') < 0) buildPage();
  // In this process, so that signals and the exit code need no forwarding, and no child process remains if it is
  // killed.
  const program = fs.existsSync(BUNDLE) ? BUNDLE : MAIN;
  process.argv = [process.execPath, program, 'up', '--demo'].concat(passedOn);
  return import(pathToFileURL(program).href);
}

/** Must match `engines` in package.json: ^20.19.0 || >=22.12.0. */
function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22) return;
  throw new Refusal(
    'Fairlead needs Node.js 20.19 or newer of 20, or 22.12 or newer; this is ' +
      process.versions.node +
      '. Install a newer one (https://nodejs.org/en/download), then run this again.',
  );
}

/**
 * Builds the operator's page at low priority while Fairlead starts. The gateway serves the page as soon as it exists,
 * and until then explains how to build it.
 */
function buildPage() {
  const script = path.join(ROOT, 'tools', 'page.mjs');
  if (!fs.existsSync(script)) return;
  const child = spawn(process.execPath, [script, '--if-changed'], { cwd: ROOT, stdio: 'ignore' });
  child.on('error', () => undefined);
  child.unref();
  try {
    if (child.pid !== undefined) os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW);
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'EACCES') throw error;
  }
}

function isHelp(arg) {
  return arg === '--help' || arg === '-h';
}

function isPrepared() {
  return isInstalled() && isBuilt(fingerprint());
}

/**
 * Prints the help without installing or building: a section of the generated reference, which a spec compares with the
 * commands.
 */
function help() {
  const [, fromUp] = fs.readFileSync(REFERENCE, 'utf8').split('\n### fairlead up\n');
  const [section] = fromUp.split('\n### ');
  process.stdout.write(
    'npm start installs the dependencies, builds Fairlead and runs "fairlead up --demo"; options follow "--":\n\n' +
      '    npm start -- --once\n' +
      section.trimEnd() +
      '\n',
  );
}

/**
 * Installs and builds if something changed. If several processes start at the same time, one of them does this and the
 * others wait.
 */
async function prepare() {
  if (isPrepared()) return;
  const lock = await takeLock();
  try {
    if (!isInstalled()) await install(lock);
    const current = fingerprint();
    if (!isBuilt(current)) await build(current, lock);
  } finally {
    lock.release();
  }
}

function isInstalled() {
  const lock = path.join(ROOT, 'package-lock.json');
  if (readIfAny(INSTALL_STAMP) === hashOf(fs.readFileSync(lock))) return true;
  // After an installation by hand: npm writes both lock files at about the same time.
  const installed = statIfAny(path.join(ROOT, 'node_modules', '.package-lock.json'));
  return installed !== undefined && installed.mtimeMs + NPM_WRITES_WITHIN_MS >= fs.statSync(lock).mtimeMs;
}

async function install(lock) {
  refuseUnwritable(path.join(ROOT, 'node_modules'), 'npm ci --ignore-scripts');
  say('installing the packages of package-lock.json (this can take a minute) ...');
  await run(
    'npm ci',
    npm().concat('ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'),
    lock,
  );
  fs.writeFileSync(INSTALL_STAMP, hashOf(fs.readFileSync(path.join(ROOT, 'package-lock.json'))));
}

/** The npm that started this script, otherwise the one on the PATH. */
function npm() {
  const script = process.env.npm_execpath;
  return script && /\.[cm]?js$/.test(script) ? [process.execPath, script] : ['npm'];
}

function isBuilt(current) {
  return fs.existsSync(MAIN) && readIfAny(BUILD_STAMP) === current;
}

async function build(current, lock) {
  refuseUnwritable(path.join(ROOT, 'apps', 'cli'), 'node tools/start.mjs --prepare-only');
  say('building ...');
  await run('tools/generate/client.mjs', [process.execPath, path.join(ROOT, 'tools', 'generate', 'client.mjs')], lock);
  await run('the TypeScript compiler', [path.join(ROOT, 'node_modules', '.bin', 'tsc'), '-b'], lock);
  const bundle = path.join(ROOT, 'tools', 'bundle.mjs');
  if (fs.existsSync(bundle)) await run('tools/bundle.mjs', [process.execPath, bundle], lock);
  fs.writeFileSync(BUILD_STAMP, current);
}

const SPEC = /\.(spec|features|fixtures)\.ts$/;

/**
 * A hash of the names, sizes and times of all build inputs, cheap enough for each start. Specs are excluded, since they
 * are not built.
 */
function fingerprint() {
  const hash = createHash('sha256');
  const note = (file) => {
    const stat = fs.statSync(file);
    hash.update(path.relative(ROOT, file) + '\0' + stat.size + '\0' + stat.mtimeMs + '\n');
  };
  for (const name of ['package-lock.json', 'tsconfig.json', 'tsconfig.base.json', 'docs/openapi.json'])
    note(path.join(ROOT, name));
  for (const group of ['apps', 'libs', 'tools']) {
    for (const project of entriesOf(path.join(ROOT, group))) {
      const folder = path.join(ROOT, group, project.name);
      if (project.isDirectory()) noteProject(folder, note);
      else if (!SPEC.test(project.name)) note(folder);
    }
  }
  return hash.digest('hex');
}

function noteProject(folder, note) {
  for (const entry of entriesOf(folder)) {
    const at = path.join(folder, entry.name);
    if (entry.isFile() && entry.name.endsWith('.json')) note(at);
    if (entry.isDirectory() && entry.name === 'src') noteTree(at, note);
  }
}

function noteTree(folder, note) {
  for (const entry of entriesOf(folder)) {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) noteTree(at, note);
    else if (!SPEC.test(entry.name)) note(at);
  }
}

function entriesOf(folder) {
  return fs.existsSync(folder)
    ? fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
    : [];
}

/**
 * Runs a step and waits for it. The lock names the step's process, so that other processes wait for it even if this one
 * is killed.
 */
function run(name, [command, ...args], lock) {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (child.pid !== undefined) lock.nameStep(child.pid);
  const passOn = (signal) => child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, passOn);
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Refusal(name + ' could not be started: ' + error.message)));
    child.on('exit', (status, signal) => {
      for (const each of signals) process.off(each, passOn);
      if (signal) reject(new Refusal(name + ' was ended by ' + signal + '.'));
      else if (status === 0) resolve();
      else reject(new Refusal(name + ' failed with exit code ' + status + '; its own words are above.'));
    });
  });
}

/** Fails if the folder, or the existing folder above it, is not writable. */
function refuseUnwritable(folder, command) {
  const existing = fs.existsSync(folder) ? folder : path.dirname(folder);
  try {
    fs.accessSync(existing, fs.constants.W_OK);
  } catch (error) {
    throw new Refusal(
      existing +
        ' must be brought up to date, but it belongs to user ' +
        fs.statSync(existing).uid +
        ' and this is user ' +
        process.getuid() +
        ', who may not write there. Run "' +
        command +
        '" as its owner, or use a clone of your own.',
    );
  }
}

/** Waits for another process that is preparing; takes over the lock if the processes in it have ended. */
async function takeLock() {
  refuseUnwritable(
    fs.existsSync(path.dirname(STATE)) ? path.dirname(STATE) : ROOT,
    'node tools/start.mjs --prepare-only',
  );
  fs.mkdirSync(STATE, { recursive: true, mode: 0o700 });
  const self = identityOf(process.pid);
  const deadline = Date.now() + WAIT_TIMEOUT_MS;
  for (let waiting = false; ;) {
    if (linkNew(LOCK, JSON.stringify([self]))) return ownLock(self);
    const held = readIfAny(LOCK);
    if (held === undefined) continue;
    const holder = JSON.parse(held).find(isAlive);
    if (holder === undefined) {
      moveAway(LOCK, held);
      continue;
    }
    if (Date.now() > deadline) {
      throw new Refusal('process ' + holder.pid + ' has prepared this checkout for too long; stop it and try again.');
    }
    if (!waiting) say('process ' + holder.pid + ' is preparing this checkout; waiting for it ...');
    waiting = true;
    await new Promise((resolve) => setTimeout(resolve, WAIT_POLL_MS));
  }
}

function ownLock(self) {
  return {
    nameStep(pid) {
      const next = LOCK + '.next';
      fs.writeFileSync(next, JSON.stringify([self, identityOf(pid)]));
      fs.renameSync(next, LOCK);
    },
    release() {
      fs.unlinkSync(LOCK);
    },
  };
}

function identityOf(pid) {
  return { pid, birth: birthOf(pid) };
}

/** The file appears atomically, so that other processes never read a partial one. */
function linkNew(file, content) {
  const temporary = file + '.' + randomBytes(6).toString('hex');
  fs.writeFileSync(temporary, content);
  try {
    fs.linkSync(temporary, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    fs.unlinkSync(temporary);
  }
}

/** If several processes find the lock stale, one of them moves it; a new lock that was moved by mistake is put back. */
function moveAway(file, stale) {
  const moved = file + '.' + randomBytes(6).toString('hex');
  try {
    fs.renameSync(file, moved);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  const content = fs.readFileSync(moved, 'utf8');
  if (content !== stale) linkNew(file, content);
  fs.unlinkSync(moved);
}

/** Whether that process still runs, and its ID has not been reused. */
function isAlive(holder) {
  if (holder.birth !== null) return birthOf(holder.pid) === holder.birth;
  try {
    return process.kill(holder.pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The start time of a process; null if it does not exist or the system does not report it. */
function birthOf(pid) {
  const stat = readIfAny('/proc/' + pid + '/stat');
  if (stat === undefined) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? null : fields[19];
}

function readIfAny(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
    throw error;
  }
}

function statIfAny(file) {
  return fs.existsSync(file) ? fs.statSync(file) : undefined;
}

function hashOf(content) {
  return createHash('sha256').update(content).digest('hex');
}

function say(sentence) {
  process.stderr.write('fairlead: ' + sentence + '\n');
}

// No top-level await: an old Node would fail to parse it.
Promise.resolve(process.argv.slice(2))
  .then(main)
  .catch((error) => {
    say(error instanceof Refusal ? error.message : error.stack);
    process.exitCode = 1;
  });
