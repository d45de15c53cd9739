/** One command that ran on a host: over SSH, or as a stand-in called by a script or an agent. */
export interface CommandRecord {
  readonly machine: string;
  readonly command: string;
  /** null: it was ended by a signal. */
  readonly exit: number | null;
  readonly at: string;
}

export type CreatedKind =
  'network' | 'firewall' | 'sshKey' | 'group' | 'machine' | 'loadBalancer' | 'reservation' | 'cluster';

const COMMANDS_KEPT_MAX = 20_000;
const COMMAND_LENGTH_MAX = 500;

/** Counts of what happened in this lab since its start, for tests that check that nothing is done twice. */
export class Stats {
  private readonly created: Record<CreatedKind, number> = {
    network: 0,
    firewall: 0,
    sshKey: 0,
    group: 0,
    machine: 0,
    loadBalancer: 0,
    reservation: 0,
    cluster: 0,
  };
  private readonly createdNames: Record<string, number> = {};
  private commands: CommandRecord[] = [];
  private commandCount = 0;

  wasCreated(kind: CreatedKind, name: string): void {
    this.created[kind] += 1;
    const key = `${kind}/${name}`;
    this.createdNames[key] = (this.createdNames[key] ?? 0) + 1;
  }

  commandRan(command: Omit<CommandRecord, 'at'>): void {
    this.commandCount += 1;
    this.commands.push({
      ...command,
      command: command.command.slice(0, COMMAND_LENGTH_MAX),
      at: new Date().toISOString(),
    });
    if (this.commands.length > 2 * COMMANDS_KEPT_MAX) this.commands = this.commands.slice(-COMMANDS_KEPT_MAX);
  }

  /** The last commands, oldest first. */
  commandsOf(machine: string | undefined): readonly CommandRecord[] {
    const kept = this.commands.slice(-COMMANDS_KEPT_MAX);
    return machine === undefined ? kept : kept.filter((command) => command.machine === machine);
  }

  counts(): {
    created: Readonly<Record<CreatedKind, number>>;
    names: Readonly<Record<string, number>>;
    commands: number;
  } {
    return { created: this.created, names: this.createdNames, commands: this.commandCount };
  }
}
