export interface KubeletsState {
  /** Stopped kubelets, and when each stopped. */
  readonly stopped: Readonly<Record<string, number>>;
  /** Whether the network was declared to work on every node. */
  readonly networkDeclared: boolean;
  /** Nodes on which a network plugin has set up the network. */
  readonly networkNodes: readonly string[];
  /** Nodes whose container runtime does not respond; absent: none. */
  readonly hungNodes?: readonly string[];
  /** Nodes whose kubelet runs without a container runtime, and since when; absent: none. */
  readonly runtimeStopped?: Readonly<Record<string, number>>;
  /** Nodes that lost the configuration of their network; absent: none. */
  readonly networkLost?: readonly string[];
  /** Nodes whose disk is full; absent: none. */
  readonly diskFull?: readonly string[];
}

/** Sets the presence of a value. Returns whether it changed. */
const put = (values: Set<string>, value: string, present: boolean): boolean => {
  if (present === values.has(value)) return false;
  if (present) values.add(value);
  else values.delete(value);
  return true;
};

/** Which kubelets run and which nodes have a network. No API object has this state. */
export class Kubelets {
  private readonly stopped: Map<string, number>;
  private readonly networkNodes: Set<string>;
  private readonly hungNodes: Set<string>;
  private readonly runtimeStopped: Map<string, number>;
  private readonly networkLost: Set<string>;
  private readonly fullNodes: Set<string>;
  private readonly seen = new Map<string, number>();
  private networkDeclared: boolean;

  constructor(state: KubeletsState) {
    this.stopped = new Map(Object.entries(state.stopped));
    this.networkNodes = new Set(state.networkNodes);
    this.hungNodes = new Set(state.hungNodes);
    this.runtimeStopped = new Map(Object.entries(state.runtimeStopped ?? {}));
    this.networkLost = new Set(state.networkLost);
    this.fullNodes = new Set(state.diskFull);
    this.networkDeclared = state.networkDeclared;
  }

  stoppedMs(node: string): number | undefined {
    return this.stopped.get(node);
  }

  /** Returns whether it changed. */
  setRunning(node: string, running: boolean, nowMs: number): boolean {
    if (running) return this.stopped.delete(node);
    if (this.stopped.has(node)) return false;
    this.stopped.set(node, nowMs);
    return true;
  }

  runtimeHangs(node: string): boolean {
    return this.hungNodes.has(node);
  }

  /** Returns whether it changed. */
  setRuntimeHangs(node: string, hangs: boolean): boolean {
    return put(this.hungNodes, node, hangs);
  }

  /** Since when its kubelet runs without a container runtime; undefined if it has one. */
  runtimeStoppedMs(node: string): number | undefined {
    return this.runtimeStopped.get(node);
  }

  /** Returns whether it changed. */
  setRuntimeStopped(node: string, stopped: boolean, nowMs: number): boolean {
    if (!stopped) return this.runtimeStopped.delete(node);
    if (this.runtimeStopped.has(node)) return false;
    this.runtimeStopped.set(node, nowMs);
    return true;
  }

  /** Returns whether it changed. */
  setNetworkLost(node: string, lost: boolean): boolean {
    return put(this.networkLost, node, lost);
  }

  isDiskFull(node: string): boolean {
    return this.fullNodes.has(node);
  }

  /** Returns whether it changed. */
  setDiskFull(node: string, full: boolean): boolean {
    return put(this.fullNodes, node, full);
  }

  hasNetwork(node: string): boolean {
    return (this.networkDeclared || this.networkNodes.has(node)) && !this.networkLost.has(node);
  }

  /** A plugin's configuration remains on the node after its pod is gone, and so does the network. */
  networkCame(node: string): void {
    this.networkNodes.add(node);
  }

  /** Declares the network available on all nodes, or missing on all. */
  declareNetwork(ready: boolean): void {
    this.networkDeclared = ready;
    if (!ready) this.networkNodes.clear();
  }

  forget(node: string): void {
    this.stopped.delete(node);
    this.networkNodes.delete(node);
    this.hungNodes.delete(node);
    this.runtimeStopped.delete(node);
    this.networkLost.delete(node);
    this.fullNodes.delete(node);
  }

  /**
   * Records the first call per key: a kubelet's own memory of a pod's arrival or deletion, lost on restart as in a real
   * kubelet.
   */
  firstSeenMs(what: string, nowMs: number): number {
    const known = this.seen.get(what);
    if (known !== undefined) return known;
    this.seen.set(what, nowMs);
    return nowMs;
  }

  forgetSeen(what: string): void {
    this.seen.delete(what);
  }

  stored(): KubeletsState {
    return {
      stopped: Object.fromEntries(this.stopped),
      networkDeclared: this.networkDeclared,
      networkNodes: [...this.networkNodes],
      hungNodes: [...this.hungNodes],
      runtimeStopped: Object.fromEntries(this.runtimeStopped),
      networkLost: [...this.networkLost],
      diskFull: [...this.fullNodes],
    };
  }
}
