import { LAB_FAULT_KINDS, LAB_FAULTS, type LabFaultKind } from '@fairlead/contracts';
import { Argument, type Command } from 'commander';
import { addCommand, addGroup, runs } from '../command/command.js';
import { duration, integerBetween } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import type { CommandOutput } from '../output/format.js';
import { labFaults, type LabFault, type LabOptions } from './lab.effects.js';

const TIMES_MAX = 1_000_000;
const PORT_MAX = 65_535;

export const addLabCommands = (program: Command, io: Io): void => {
  const fault = addGroup(
    addGroup(program, 'lab', 'Control the lab, a simulated cloud'),
    'fault',
    'Make something go wrong in the lab, a simulation',
  );
  addList(fault, io);
  addSet(fault, io);
  addClear(fault, io);
};

const labOptions = (command: Command): Command =>
  command
    .option('--connection <name>', 'connection of the lab', 'lab')
    .option('--lab-token-file <file>', "file with the lab's token (default: that of the local instance)");

const detailOf = ({ command, message, delayMs, port }: LabFault): string =>
  [
    ...(command === undefined ? [] : [command]),
    ...(port === undefined ? [] : [`port ${port}`]),
    ...(delayMs === undefined ? [] : [`after ${formatDuration(delayMs)}`]),
    ...(message === undefined ? [] : [message]),
  ].join(': ');

const faultsAnswer = (items: readonly LabFault[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['kind', 'machine', 'times', 'detail', 'effect (simulated)'],
    rows: items.map((fault) => [
      fault.kind,
      fault.machine ?? '*',
      fault.times === undefined ? 'always' : String(fault.times),
      detailOf(fault),
      LAB_FAULTS[fault.kind],
    ]),
    empty: 'The lab has no faults.',
  },
  names: items.map(({ kind }) => kind),
});

const addList = (fault: Command, io: Io): void => {
  const command = addCommand(fault, {
    usage: 'list',
    shared: 'installation',
    summary: 'List the faults that are set in the lab',
    examples: [['fairlead lab fault list', 'Show what goes wrong, and how often it still does']],
  });
  labOptions(command).action(
    runs(io, async (session, options: LabOptions) => faultsAnswer(await labFaults(session, options))),
  );
};

type SetOptions = LabOptions & {
  readonly machine?: string;
  readonly command?: string;
  readonly message?: string;
  readonly delay?: number;
  readonly times?: number;
  readonly port?: number;
};

const addSet = (fault: Command, io: Io): void => {
  const command = addCommand(fault, {
    usage: 'set',
    shared: 'installation',
    summary: 'Set a fault in the lab',
    description:
      'Set a fault beside those that are set; one of the same kind, machine and command is replaced. The lab is a simulation: no real machine is concerned. It needs the token of the lab, which the owner of the local instance has. docs/lab.md describes every kind.',
    examples: [
      ['fairlead lab fault set host-lost --machine "demo-w-*" --times 1', 'Power one worker off'],
      [
        'fairlead lab fault set command-failure --command "kubeadm join" --message "disk is full" --times 2',
        'Have the next two joins fail',
      ],
      ['fairlead lab fault set boot-slow --delay 2m', 'Have every new machine boot slowly'],
    ],
  })
    .addArgument(new Argument('<kind>', 'what goes wrong').choices(LAB_FAULT_KINDS))
    .option('--machine <pattern>', 'machines that it strikes, by name, with * and ? (default: all)')
    .option('--command <pattern>', 'command-failure: the beginning of the command line, or a pattern with * and ?')
    .option('--message <text>', 'what the failure says')
    .option('--delay <duration>', 'how slow it is, e.g. 30s', duration)
    .option('--port <number>', 'port-dropped: the port (default: all)', integerBetween(1, PORT_MAX))
    .option('--times <count>', 'how often it strikes (default: always)', integerBetween(1, TIMES_MAX));
  labOptions(command).action(
    runs(io, async (session, kind: LabFaultKind, options: SetOptions) => setFault(session, kind, options)),
  );
};

const isSame = (one: LabFault, other: LabFault): boolean =>
  one.kind === other.kind &&
  (one.machine ?? '*') === (other.machine ?? '*') &&
  one.command === other.command &&
  one.port === other.port;

const setFault = async (
  session: Session,
  kind: LabFaultKind,
  { machine = '*', command, message, delay, times, port, ...lab }: SetOptions,
): Promise<CommandOutput> => {
  const fault: LabFault = { kind, machine, command, message, delayMs: delay, times, port };
  const before = await labFaults(session, lab);
  return faultsAnswer(await labFaults(session, lab, [...before.filter((one) => !isSame(one, fault)), fault]));
};

const addClear = (fault: Command, io: Io): void => {
  const command = addCommand(fault, {
    usage: 'clear',
    shared: 'installation',
    summary: 'Clear the faults of the lab, or those of a kind',
    examples: [
      ['fairlead lab fault clear', 'Clear all faults'],
      ['fairlead lab fault clear disk-full', 'Clear those of a kind'],
    ],
  }).addArgument(new Argument('[kind]', 'clear only these').choices(LAB_FAULT_KINDS));
  labOptions(command).action(
    runs(io, async (session, kind: LabFaultKind | undefined, options: LabOptions) => {
      const kept = kind === undefined ? [] : (await labFaults(session, options)).filter((one) => one.kind !== kind);
      return faultsAnswer(await labFaults(session, options, kept));
    }),
  );
};
