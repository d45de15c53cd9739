import { findAccess, type Access, type AccessOptions } from '../api/access.js';
import type { ClusterAt } from '../api/views.js';
import { apiAt, type Api } from '../api/api.js';
import { Outage } from '../api/outage.js';
import { chosenContext } from '../instance/contexts.store.js';
import type { Io } from '../io/io.js';
import { DEFAULT_FORMAT, type Format } from '../output/format.js';

/** The options that (nearly) every command has. */
export interface SharedOptions extends AccessOptions {
  readonly output?: Format;
  readonly namespace?: string;
  /** What the command itself has of these: it waits for something, and bears with a server that restarts meanwhile. */
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly follow?: boolean;
}

/** One run of a command: the terminal, what was asked of all commands, and the server, which is looked for when it is first needed. */
export class Session {
  private known: Api | undefined;
  private found: Access | undefined;
  private waits: boolean;

  constructor(
    readonly io: Io,
    private readonly shared: SharedOptions,
  ) {
    this.waits = shared.wait === true || shared.watch === true || shared.follow === true;
  }

  get api(): Api {
    return (this.known ??= apiAt({ ...this.access, outage: new Outage(this.io, () => this.waits) }));
  }

  /** Where the server is, and what opens it. */
  get access(): Access {
    return (this.found ??= findAccess(this.shared, this.io));
  }

  /** From now on a server that restarts is waited for, because the command waits for something that continues there. */
  waitsForServer(): void {
    this.waits = true;
  }

  get namespace(): string {
    const { namespace, context } = this.shared;
    const ofContext = (): string | undefined => chosenContext(this.shared, this.io)?.namespace;
    const given = this.io.env['FAIRLEAD_NAMESPACE'];
    return namespace ?? (context === undefined ? (given ?? ofContext()) : (ofContext() ?? given)) ?? 'default';
  }

  /** What --namespace says; undefined: it was not given. */
  get namespaceOption(): string | undefined {
    return this.shared.namespace;
  }

  get format(): Format {
    return this.shared.output ?? DEFAULT_FORMAT;
  }

  /** Where the instance's data is, as far as the user said. */
  get dataDir(): string | undefined {
    return this.shared.data;
  }
}

export const clusterAt = ({ namespace }: Session, cluster: string): ClusterAt => ({ namespace, cluster });
