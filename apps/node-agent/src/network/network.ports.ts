import type { AgentNetworkMessage, DesiredNetwork, EventData, NetworkPartName } from '@fairlead/contracts';

/** The part of the services that the network configuration uses. */
export interface NetworkPlatform {
  /** Called with the desired configuration. `asked`: it is the reply to a request, so it is the newest. */
  onNetwork(callback: (message: AgentNetworkMessage, asked: boolean) => void): void;
  onConnected(callback: () => void): void;
  isConnected(): boolean;
}

/** Whether an endpoint responds over a new connection from this host. */
export interface Reached {
  readonly reached: boolean;
  /** The address, and why it cannot be reached, as reported by the connection. */
  readonly sentence: string;
}

/** Endpoints that a node must still reach after a change. Each check opens a new connection and never rejects. */
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
   * Brings the host into the desired state; idempotent, also after a crash at any point. Throws ExternalFailure if it
   * fails, and Reverted if the host is in its former state.
   */
  apply(desired: DesiredNetwork): Promise<void>;
}

/** A change was reverted automatically. */
export class Reverted extends Error {
  constructor(
    readonly command: string,
    message: string,
  ) {
    super(message);
    this.name = 'Reverted';
  }
}
