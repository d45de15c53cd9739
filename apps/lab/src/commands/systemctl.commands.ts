import { UnknownUnit, unitName, type ActiveState } from '../services/service.manager.js';
import { parseArguments } from '../arguments/arguments.js';
import { CommandFault, type Command, type CommandCall } from './command.js';

/** systemctl(1), exit status: 3 for a unit that is not active, 4 for one that does not exist, 5 for one that was not loaded. */
const NOT_ACTIVE = 3;
const NO_SUCH_UNIT = 4;
const NOT_LOADED = 5;
const JOURNAL_LINES_DEFAULT = 200;
const STATUS_LINES = 10;

export const systemctl: Command = async (call) => {
  const parsed = parseArguments(call.args, ['-p', '--property', '-t', '--type', '-n', '--lines']);
  const [verb = 'list-units', ...units] = parsed.positional;
  const names = units.map(unitName);
  switch (verb) {
    case 'daemon-reload':
    case 'daemon-reexec':
    case 'reset-failed':
      return 0;
    case 'enable':
    case 'disable':
      return changeEach(call, names, (name) => enableOrDisable(call, name, verb, parsed.has('--now')));
    case 'start':
    case 'stop':
    case 'restart':
      return changeEach(call, names, (name) => run(call, name, verb));
    case 'try-restart':
    case 'reload-or-restart':
    case 'reload':
      return changeEach(call, names, (name) => run(call, name, 'restart'));
    case 'mask':
    case 'unmask':
      return 0;
    case 'is-active':
      return isActive(call, names, parsed.has('--quiet', '-q'));
    case 'is-enabled':
      return isEnabled(call, names, parsed.has('--quiet', '-q'));
    case 'is-system-running':
      call.out('running');
      return 0;
    case 'status':
      return status(call, names);
    case 'show':
      return show(call, names, parsed.value('-p', '--property'), parsed.has('--value'));
    case 'cat':
      return cat(call, names);
    case 'list-units':
    case 'list-unit-files':
      for (const unit of Object.keys(call.host.record.units).sort()) call.out(unit);
      return 0;
    case 'reboot':
      call.world.shutDown(call.host, true);
      return 0;
    case 'poweroff':
    case 'halt':
      call.world.shutDown(call.host, false);
      return 0;
    default:
      throw new CommandFault(`Unknown command verb ${verb}.`);
  }
};

const enableOrDisable = async (
  call: CommandCall,
  name: string,
  verb: 'enable' | 'disable',
  now: boolean,
): Promise<void> => {
  const { services } = call.host;
  if (verb === 'enable' && !services.isEnabled(name)) {
    await services.enable(name);
    call.err(`Created symlink /etc/systemd/system/multi-user.target.wants/${name}.`);
  } else if (verb === 'disable') {
    await services.disable(name);
  }
  if (now) await run(call, name, verb === 'enable' ? 'start' : 'stop');
};

const run = async (
  { host, world, signal }: CommandCall,
  name: string,
  verb: 'start' | 'stop' | 'restart',
): Promise<void> => {
  if ((await host.services.read(name)) === undefined) throw new UnknownUnit(name);
  await world.delays('serviceStart', signal);
  await host.services[verb](name);
};

const changeEach = async (
  { err }: CommandCall,
  names: readonly string[],
  change: (name: string) => Promise<void>,
): Promise<number> => {
  let exitCode = 0;
  for (const name of names) {
    try {
      await change(name);
    } catch (error) {
      if (!(error instanceof UnknownUnit)) throw error;
      err(`Failed to change ${name}: Unit file ${name} does not exist.`);
      exitCode = NOT_LOADED;
    }
  }
  return exitCode;
};

const isActive = async ({ host, out }: CommandCall, names: readonly string[], quiet: boolean): Promise<number> => {
  const states = await Promise.all(names.map((name) => host.services.activeState(name)));
  if (!quiet) for (const state of states) out(state);
  return states.some((state) => state === 'active') ? 0 : NOT_ACTIVE;
};

const isEnabled = async (
  { host, out, err }: CommandCall,
  names: readonly string[],
  quiet: boolean,
): Promise<number> => {
  let someEnabled = false;
  for (const name of names) {
    if ((await host.services.read(name)) === undefined) {
      err(`Failed to get unit file state for ${name}: No such file or directory`);
      continue;
    }
    const enabled = host.services.isEnabled(name);
    someEnabled ||= enabled;
    if (!quiet) out(enabled ? 'enabled' : 'disabled');
  }
  return someEnabled ? 0 : 1;
};

const SUB_STATES: Readonly<Record<ActiveState, string>> = {
  active: 'running',
  inactive: 'dead',
  activating: 'auto-restart',
  failed: 'failed',
};

const status = async ({ host, out, err }: CommandCall, names: readonly string[]): Promise<number> => {
  let exitCode = 0;
  for (const name of names) {
    const file = await host.services.read(name);
    if (file === undefined) {
      err(`Unit ${name} could not be found.`);
      exitCode = NO_SUCH_UNIT;
      continue;
    }
    const state = await host.services.activeState(name);
    if (state !== 'active') exitCode = NOT_ACTIVE;
    out(`${state === 'active' ? '●' : '○'} ${name} - ${file.description}`);
    out(
      `     Loaded: loaded (${name}; ${host.services.isEnabled(name) ? 'enabled' : 'disabled'}) (simulated by Fairlead lab)`,
    );
    out(`     Active: ${state} (${SUB_STATES[state]})`);
    for (const line of await host.services.journal(name, STATUS_LINES)) out(line);
  }
  return exitCode;
};

const show = async (
  { host, out }: CommandCall,
  names: readonly string[],
  properties: string | undefined,
  valueOnly: boolean,
): Promise<number> => {
  for (const name of names) {
    const state = await host.services.activeState(name);
    const loaded = (await host.services.read(name)) !== undefined;
    const all: Readonly<Record<string, string>> = {
      Id: name,
      LoadState: loaded ? 'loaded' : 'not-found',
      ActiveState: state,
      SubState: SUB_STATES[state],
      UnitFileState: loaded ? (host.services.isEnabled(name) ? 'enabled' : 'disabled') : '',
      MainPID: String(host.services.mainPid(name)),
      // Unit files are read at every use.
      NeedDaemonReload: 'no',
    };
    for (const key of properties?.split(',') ?? Object.keys(all)) {
      out(valueOnly ? (all[key] ?? '') : `${key}=${all[key] ?? ''}`);
    }
  }
  return 0;
};

const cat = async ({ host, out, err }: CommandCall, names: readonly string[]): Promise<number> => {
  for (const name of names) {
    const file = await host.services.read(name);
    if (file === undefined) {
      err(`No files found for ${name}.`);
      return 1;
    }
    out(`[Service]\nExecStart=${file.execStart}`);
  }
  return 0;
};

const JOURNAL_OPTIONS = ['-u', '--unit', '-n', '--lines', '-o', '--output', '-S', '--since', '-p', '--after-cursor'];

/**
 * `journalctl -u UNIT [-n LINES] [--reverse] [--show-cursor] [--after-cursor CURSOR]`; without a unit, the machine's
 * console. Timestamps are ignored.
 */
export const journalctl: Command = async ({ host, args, out }) => {
  const parsed = parseArguments(args, JOURNAL_OPTIONS);
  const unit = parsed.value('-u', '--unit');
  const linesMax = Number(parsed.value('-n', '--lines') ?? JOURNAL_LINES_DEFAULT);
  const cursor = parsed.value('--after-cursor');
  const written = unit === undefined ? 0 : await host.services.written(unit);
  // A restarted journal is shorter than its cursor.
  const before = Number(cursor?.replace(/^i=/, '') ?? 0);
  const newest = before > written ? written : Math.min(linesMax, written - before);
  const lines = unit === undefined ? host.console().trimEnd().split('\n') : await host.services.journal(unit, linesMax);
  const shown = lines.slice(Math.max(0, lines.length - (cursor === undefined ? linesMax : newest)));
  if (shown.length === 0 && !parsed.has('-q', '--quiet')) out('-- No entries --');
  for (const line of parsed.has('-r', '--reverse') ? shown.toReversed() : shown) out(line);
  if (parsed.has('--show-cursor') && written > 0) out(`-- cursor: i=${written}`);
  return 0;
};
