import {
  AGENT_RENEW_FILTER,
  agentOutputSubject,
  AgentRenewMessage,
  isRefusal,
  NodeName,
  parseAgentInput,
  wordsOf,
  type AgentCredentialsMessage,
  type NodeAddress,
} from '@fairlead/contracts';
import type { Reconciled } from '@fairlead/event-sourcing';
import { HANDLE, NATS, processConsumer, readStates, type Ask, type Handle } from '@fairlead/event-sourcing/jetstream';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';
import { bootstrapReconciler } from '../bootstrap/bootstrap.reconciler.js';
import { credentialsOf, isMember, type Bootstrap } from '../bootstrap/bootstrap.state.js';
import { AGENT_KIT } from '../bootstrap/tokens.js';
import type { AgentKit } from './agent.kit.js';

/** An agent requests a renewal every few hours, and every minute while it gets no answer. */
const ASKED_AGAIN_MIN_MS = 10_000;
const NODES_REMEMBERED_MAX = 50_000;
const QUEUE = 'bootstrap-svc';
/** Rows of an earlier version of the process have a state of a different shape. */
const BOOTSTRAP_PROCESS = processConsumer(bootstrapReconciler());

/** The name of a user and a few other fields. */
const REQUEST_LENGTH_MAX = 65_536;

export const requestIn = (message: Pick<Msg, 'string'>): AgentRenewMessage | undefined =>
  AgentRenewMessage.safeParse(parseJsonOrUndefined(message.string(), { lengthMax: REQUEST_LENGTH_MAX })).data;

/** Signs new claims for the users of nodes, as long as the node belongs to its cluster. */
@Injectable()
export class AgentCredentialsEffects implements OnApplicationBootstrap {
  private readonly log = new Logger('agent-credentials');
  /** Bounded by size: with `max`, the cache allocates memory for all of its entries at once. */
  private readonly askedAtMs = new LRUCache<string, number>({
    maxSize: NODES_REMEMBERED_MAX,
    sizeCalculation: () => 1,
  });
  private started = false;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(AGENT_KIT)
    private readonly kit: Pick<AgentKit, 'renewedClaims' | 'credentialLifetimeSeconds' | 'natsTrust'>,
    @Inject(HANDLE) private readonly handle: Handle,
  ) {}

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.started) return;
    this.started = true;
    this.nats.subscribe(AGENT_RENEW_FILTER, {
      queue: QUEUE,
      callback: (error, message) => {
        if (error === null) void this.answer(message);
      },
    });
  }

  /** The subject identifies the node: no other has the permission to publish there. */
  private async answer(message: Msg): Promise<void> {
    try {
      const address = parseAgentInput(message.subject);
      const request = requestIn(message);
      if (address === undefined || request === undefined || this.asksTooOften(message.subject)) return;
      const lifetimeSeconds = await this.lifetimeOf(address, request);
      if (typeof lifetimeSeconds === 'string') {
        this.log.warn(`${message.subject} is not answered: ${lifetimeSeconds}`);
        return;
      }
      const jwt = this.kit.renewedClaims(address, request.user, lifetimeSeconds);
      if (jwt === undefined) return;
      const answer: AgentCredentialsMessage = { user: request.user, jwt, ...this.kit.natsTrust() };
      this.nats.publish(agentOutputSubject(address, 'credentials'), JSON.stringify(answer));
    } catch (error) {
      this.log.warn(`${message.subject} is not answered: ${wordsOf(error)}`);
    }
  }

  private asksTooOften(subject: string): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.askedAtMs.get(subject) ?? Number.NEGATIVE_INFINITY) < ASKED_AGAIN_MIN_MS) return true;
    this.askedAtMs.set(subject, nowMs);
    return false;
  }

  /** The maximum lifetime of the user's claims, in seconds; a string: why it gets none. */
  private async lifetimeOf(address: NodeAddress, { uid, user }: AgentRenewMessage): Promise<number | string> {
    const { namespace, cluster, node } = address;
    const ask: Ask = (text, values) => this.database.query(text, [...values]);
    const states = await readStates(ask, BOOTSTRAP_PROCESS, [`${namespace}/${cluster}`]);
    const bootstrapped = [...states.values()]
      .map((doc) => (doc as Reconciled<Bootstrap>).state)
      .find((state) => isMember(state, uid, node));
    if (bootstrapped === undefined) return 'no cluster has this node';
    const credentials = credentialsOf(bootstrapped, node);
    if (credentials === undefined) return this.adopt(address, { uid, user });
    return credentials.users.includes(user) ? credentials.lifetimeSeconds : 'its user was not issued to this node';
  }

  /**
   * A node from before users were recorded: its first user is recorded now, and from then on only recorded ones are
   * renewed.
   */
  private async adopt(
    { namespace, cluster, node }: NodeAddress,
    { uid, user }: AgentRenewMessage,
  ): Promise<number | string> {
    const { credentialLifetimeSeconds: lifetimeSeconds } = this.kit;
    const id = randomUUID();
    const decided = await this.handle(
      bootstrap,
      { namespace, cluster, context: 'bootstrap' },
      { type: 'IssueCredential', data: { uid, node: NodeName.parse(node), user, lifetimeSeconds } },
      { actor: 'system/bootstrap-svc', correlationId: id, causationId: id },
    );
    return isRefusal(decided) ? decided.message : lifetimeSeconds;
  }
}
