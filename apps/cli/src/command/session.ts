import { findAccess, type Access, type AccessOptions } from '../api/access.js';
import type { ClusterAt } from '../api/views.js';
import { apiAt, type Api } from '../api/api.js';
import { Outage } from '../api/outage.js';
import { chosenContext } from '../instance/contexts.store.js';
import type { Io } from '../io/io.js';
import { DEFAULT_FORMAT, type Format } from '../output/format.js';

/** Options of (nearly) all commands. */
export interface SharedOptions extends AccessOptions {
  readonly output?: Format;
  readonly namespace?: string;
  /** Set if the command waits for a result, and therefore tolerates a restart of the server. */
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly follow?: boolean;
}

/** One run of a command: the terminal, the shared options, and the API, which is created on first use. */
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

  /** The address of the server, and the credentials for it. */
  get access(): Access {
    return (this.found ??= findAccess(this.shared, this.io));
  }

  /** From now on, the command tolerates a restart of the server, because it waits for work that continues there. */
  waitsForServer(): void {
    this.waits = true;
  }

  get namespace(): string {
    const { namespace, context } = this.shared;
    const ofContext = (): string | undefined => chosenContext(this.shared, this.io)?.namespace;
    const given = this.io.env['FAIRLEAD_NAMESPACE'];
    return namespace ?? (context === undefined ? (given ?? ofContext()) : (ofContext() ?? given)) ?? 'default';
  }

  /** The value of --namespace; undefined if it was not given. */
  get namespaceOption(): string | undefined {
    return this.shared.namespace;
  }

  get format(): Format {
    return this.shared.output ?? DEFAULT_FORMAT;
  }

  /** The data folder of the instance, if the user named one. */
  get dataDir(): string | undefined {
    return this.shared.data;
  }
}

export const clusterAt = ({ namespace }: Session, cluster: string): ClusterAt => ({ namespace, cluster });
