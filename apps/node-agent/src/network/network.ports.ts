import type { AgentNetworkMessage, DesiredNetwork, EventData, NetworkPartName } from '@fairlead/contracts';

/** How the services are reached, as far as the network configuration needs them. */
export interface NetworkPlatform {
  /** What is desired of the node. `asked`: the answer to a question, so that it is the newest there is. */
  onNetwork(callback: (message: AgentNetworkMessage, asked: boolean) => void): void;
  onConnected(callback: () => void): void;
  isConnected(): boolean;
}

/** Whether something answers a new connection from this host. */
export interface Reached {
  readonly reached: boolean;
  /** Which address, and why not, in the words of the connection. */
  readonly sentence: string;
}

/** What a node must still reach after a change. Each opens a new connection and never rejects. */
export interface Reach {
  nats(limitMs: number): Promise<Reached>;
  /** undefined: the node is not part of a cluster yet. */
  api(limitMs: number): Promise<Reached | undefined>;
}

export type PartFailure = EventData<'NodeNetworkFailed'>['failures'][number];

/** A part of the network configuration. */
export interface NetworkPart {
  readonly part: NetworkPartName;
  /**
   * Makes the host as desired, and removes what is no longer desired; idempotent, also after a crash at any point. Throws WorldFailure for
   * what failed, and Reverted when the host is as it was before.
   */
  apply(desired: DesiredNetwork): Promise<void>;
}

/** A change was taken back by itself. */
export class Reverted extends Error {
  constructor(
    readonly command: string,
    message: string,
  ) {
    super(message);
    this.name = 'Reverted';
  }
}
