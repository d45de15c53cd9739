import { refuse } from '@fairlead/contracts';
import type { Declared } from '@fairlead/domain';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ConnectionQueries } from '../connections/connections.queries.js';
import { shownSoon } from '../http/answers.js';
import { clusterUnknown } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
import { ManifestCommands, type ChooseSize } from '../manifest/manifest.commands.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { NodeQueries } from '../nodes/nodes.queries.js';
import { callerOf, type Opened } from './autoscaler.access.js';
import type { GroupNode, Messages, METHODS, Method } from './externalgrpc.messages.js';
import {
  findNode,
  instanceOf,
  NO_GROUP,
  nodeGroup,
  nodesOfPool,
  scaledPools,
  unmade,
  type ScaledPool,
} from './node.groups.js';
import { nodeTemplate } from './node.template.js';

/** A call, from whom it comes, and whether its client still waits for the answer. */
export interface Call<Request> {
  readonly opened: Opened;
  readonly request: Request;
  /** Aborts when the client has gone or its deadline is over. */
  readonly signal: AbortSignal;
}

type RequestOf<M extends Method> = Messages[(typeof METHODS)[M][0]];
type AnswerOf<M extends Method> = Messages[(typeof METHODS)[M][1]];

/** `unimplemented`: the protocol lets a provider leave the method out, and the client then does without. */
export type Calls = {
  readonly [M in Method]: 'unimplemented' | ((call: Call<RequestOf<M>>) => Promise<AnswerOf<M>>);
};

const NOTHING = {} as const;
/** An increase that is repeated later than this was decided by someone who has looked at the size. */
const REPEATED_WITHIN_MS = 60_000;
const REMEMBERED_MAX = 1_000;

/** Answers the calls of autoscalers: reads the log and rows, and changes sizes by the command for them. */
@Injectable()
export class AutoscalerCalls {
  /** Changes that were recorded when their client did not wait for the answer any more, by credential and pool. */
  private readonly unanswered = new LRUCache<string, number>({ max: REMEMBERED_MAX, ttl: REPEATED_WITHIN_MS });
  /** Changes under way: a repetition waits for the first. */
  private readonly underWay = new Map<string, Promise<unknown>>();
  /** Where in the log this replica has recorded a change of a cluster last: its own reads show it. */
  private readonly recorded = new LRUCache<string, number>({ max: REMEMBERED_MAX });

  constructor(
    @Inject(ManifestCommands) private readonly commands: ManifestCommands,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
    @Inject(ConnectionQueries) private readonly connections: ConnectionQueries,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  readonly calls: Calls = {
    NodeGroups: async (call) => {
      const pools = scaledPools(await this.declared(call));
      return { nodeGroups: pools.map((pool) => nodeGroup(call.opened.address, pool)) };
    },
    NodeGroupForNode: (call) => this.groupOf(call),
    PricingNodePrice: 'unimplemented',
    PricingPodPrice: 'unimplemented',
    GPULabel: async () => ({ label: '' }),
    GetAvailableGPUTypes: async () => NOTHING,
    Cleanup: async () => NOTHING,
    // Nothing is kept between calls that could be refreshed.
    Refresh: async () => NOTHING,
    NodeGroupTargetSize: async (call) => {
      const { replicas } = await this.pool(call);
      this.unanswered.delete(keyOf(call));
      return { targetSize: replicas };
    },
    NodeGroupIncreaseSize: (call) => this.increase(call),
    NodeGroupDeleteNodes: (call) => this.remove(call),
    NodeGroupDecreaseTargetSize: (call) => this.decrease(call),
    NodeGroupNodes: async (call) => {
      const [declared, docs] = [await this.declared(call), await this.docs(call)];
      const { name } = poolIn(declared, call);
      return { instances: nodesOfPool(docs, name).map((doc) => instanceOf(doc, declared)) };
    },
    NodeGroupTemplateNodeInfo: (call) => this.template(call),
    // The client's own options hold for every pool: they go back as they came, whichever version of them it has.
    NodeGroupGetOptions: async (call) => {
      await this.pool(call);
      return { nodeGroupAutoscalingOptions: call.request.defaults };
    },
  };

  private async groupOf({ request: { node }, ...call }: Call<Messages['NodeRequest']>) {
    const [declared, docs] = [await this.declared(call), await this.docs(call)];
    const doc = node === undefined || node === null ? undefined : findNode(docs, node);
    const pool = scaledPools(declared).find(({ name }) => name === doc?.pool);
    return { nodeGroup: pool === undefined ? NO_GROUP : nodeGroup(call.opened.address, pool) };
  }

  /**
   * Changes of one pool's size by one client take turns. One that was recorded when its client did not wait any more, and comes again before
   * the client has looked at the size, is a repetition: it is answered, and changes nothing.
   */
  private async once(call: Call<Messages['Delta']>, change: () => Promise<void>) {
    const key = keyOf(call);
    const { delta } = call.request;
    const turn = (this.underWay.get(key) ?? Promise.resolve()).then(async () => {
      if (this.unanswered.get(key) === delta) {
        this.unanswered.delete(key);
        return;
      }
      await change();
      if (call.signal.aborted) this.unanswered.set(key, delta);
    });
    // The next turn begins also after one that failed; whoever asked for that one gets its error below.
    const settled = turn.catch(() => undefined);
    this.underWay.set(key, settled);
    void settled.then(() => {
      if (this.underWay.get(key) === settled) this.underWay.delete(key);
    });
    await turn;
    return NOTHING;
  }

  private async increase(call: Call<Messages['Delta']>) {
    const { id: pool, delta } = call.request;
    if (delta <= 0) throw new RefusalError(refuse('autoscaler.delta-invalid', { pool, delta }));
    return this.once(call, () => this.resize(call, ({ replicas }) => ({ replicas: replicas + delta, remove: [] })));
  }

  private async remove(call: Call<Messages['Nodes']>) {
    const { id: pool, nodes } = call.request;
    const docs = nodesOfPool(await this.docs(call), pool);
    const found = nodes.map((node) => orForeign(findNode(docs, node), pool, node));
    await this.resize(call, ({ replicas }, { nodes: counted }) => {
      // A node that leaves already is no longer counted: a repetition removes nothing more.
      const remove = [...new Set(found.map(({ name }) => name))].filter((name) => name in counted);
      return { replicas: replicas - remove.length, remove };
    });
    return NOTHING;
  }

  private async decrease(call: Call<Messages['Delta']>) {
    const { id: pool, delta } = call.request;
    if (delta >= 0) throw new RefusalError(refuse('autoscaler.delta-invalid', { pool, delta }));
    const docs = nodesOfPool(await this.docs(call), pool);
    const choose: ChooseSize = (before, declared) => {
      const replicas = before.replicas + delta;
      const counted = Object.values(declared.nodes).filter((of) => of === pool).length;
      const open = unmade(docs, declared);
      const existing = counted - open.length;
      if (replicas < existing) throw new RefusalError(refuse('autoscaler.nodes-exist', { pool, existing, replicas }));
      // Machines that are not planned yet have no names: they go first, with the request for them.
      const remove = open.slice(0, Math.max(0, counted - replicas)).map(({ name }) => name);
      return { replicas, remove };
    };
    return this.once(call, () => this.resize(call, choose));
  }

  private async template(call: Call<Messages['Group']>) {
    const pool = await this.pool(call);
    const { connection, machineType: spec } = pool;
    const known = await this.connections.one(connection);
    const size = known?.offer?.specs.find(({ name }) => name === spec);
    if (known === undefined || size === undefined)
      throw new RefusalError(refuse('autoscaler.template-unknown', { spec, connection }));
    const node = nodeTemplate(pool, { region: known.registration.region, size });
    return { nodeInfo: node, nodeBytes: node };
  }

  /** Nothing is decided for a client that has gone before it was. */
  private async resize({ opened, request, signal }: Call<{ readonly id: string }>, choose: ChooseSize): Promise<void> {
    const chosen: ChooseSize = (pool, declared) => {
      signal.throwIfAborted();
      if (pool.autoscaling === undefined) throw new RefusalError(refuse('pool.not-autoscaled', { pool: pool.name }));
      return choose(pool, declared);
    };
    const address = { ...opened.address, pool: request.id };
    const { decided } = await this.commands.resize(address, chosen, {
      caller: callerOf(opened, signal),
      dryRun: false,
    });
    if (decided.events.length > 0) this.recorded.set(opened.uid, decided.seq);
  }

  private async declared({ opened, signal }: Call<unknown> | Omit<Call<unknown>, 'request'>): Promise<Declared> {
    const declared = await this.commands.declared(opened.address, callerOf(opened, signal));
    if (declared?.uid !== opened.uid) throw new RefusalError(clusterUnknown(opened.address));
    return declared;
  }

  private async pool(call: Call<{ readonly id: string }>): Promise<ScaledPool> {
    return poolIn(await this.declared(call), call);
  }

  /** The rows of the cluster, with what this replica has recorded, unless they are late: no call waits for long. */
  private async docs({ opened: { address, uid } }: Pick<Call<unknown>, 'opened'>): Promise<readonly NodeDoc[]> {
    const seq = this.recorded.get(uid);
    if (seq !== undefined && (await shownSoon(this.positions, seq))) this.recorded.delete(uid);
    const docs = await this.nodes.all(address.namespace, address.cluster);
    return docs.filter((doc) => doc.uid === uid);
  }
}

const keyOf = ({ opened, request }: Call<{ readonly id: string }>): string => `${opened.credential}\n${request.id}`;

const poolIn = (declared: Declared, { opened, request }: Call<{ readonly id: string }>): ScaledPool => {
  const pool = scaledPools(declared).find(({ name }) => name === request.id);
  if (pool === undefined) throw new RefusalError(refuse('pool.unknown', { ...opened.address, pool: request.id }));
  return pool;
};

const orForeign = (doc: NodeDoc | undefined, pool: string, { name, providerID }: GroupNode): NodeDoc => {
  if (doc === undefined) throw new RefusalError(refuse('autoscaler.node-foreign', { pool, node: name || providerID }));
  return doc;
};
