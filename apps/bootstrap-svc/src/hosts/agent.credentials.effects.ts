import {
  AGENT_RENEW_FILTER,
  agentOutputSubject,
  AgentRenewMessage,
  parseAgentInput,
  wordsOf,
  type AgentCredentialsMessage,
  type NodeAddress,
} from '@fairlead/contracts';
import { NATS } from '@fairlead/event-sourcing/jetstream';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';
import { isMember } from '../bootstrap/bootstrap.state.js';
import type { Following } from '../bootstrap/bootstrap.process.js';
import { AGENT_KIT } from '../bootstrap/tokens.js';
import type { AgentKit } from './agent.kit.js';

/** An agent asks once in hours, and once a minute while it is not answered. */
const ASKED_AGAIN_MIN_MS = 10_000;
const NODES_REMEMBERED_MAX = 50_000;
const QUEUE = 'bootstrap-svc';

const requestIn = (message: Msg): AgentRenewMessage | undefined => {
  try {
    return AgentRenewMessage.safeParse(message.json()).data;
  } catch {
    return undefined; // Not JSON: no schema accepts it.
  }
};

/** Signs new claims for the users of nodes that ask before theirs end, as long as their cluster has the node. */
@Injectable()
export class AgentCredentialsEffects implements OnApplicationBootstrap {
  private readonly log = new Logger('agent-credentials');
  private readonly askedAtMs = new LRUCache<string, number>({ max: NODES_REMEMBERED_MAX });
  private started = false;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(AGENT_KIT) private readonly kit: Pick<AgentKit, 'renewedClaims'>,
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

  /** The subject says which node asks: no other could have published there. */
  private async answer(message: Msg): Promise<void> {
    try {
      const address = parseAgentInput(message.subject);
      const request = requestIn(message);
      if (address === undefined || request === undefined || this.asksTooOften(message.subject)) return;
      if (!(await this.hasNode(address, request.uid))) {
        this.log.warn(`${message.subject} is not answered: no cluster has this node`);
        return;
      }
      const jwt = this.kit.renewedClaims(address, request.user);
      if (jwt === undefined) return;
      const answer: AgentCredentialsMessage = { user: request.user, jwt };
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

  private async hasNode({ namespace, cluster, node }: NodeAddress, uid: string): Promise<boolean> {
    const found = await this.database.query<{ doc: Following }[]>(
      `select doc from process_state where process like 'process:bootstrap@%' and cluster_key = $1`,
      [`${namespace}/${cluster}`],
    );
    return found.some(({ doc }) => isMember(doc.bootstrap, uid, node));
  }
}
