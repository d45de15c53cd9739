import {
  type ClusterName,
  type ClusterUid,
  type DeclaredPool,
  type DeclaredSpec,
  type Fact,
  isRefusal,
  type MachinePlan,
  type RefusalCode,
  UpgradeStrategy,
} from '@fairlead/contracts';
import { requestedSets } from '@fairlead/domain';
import { stored } from '@fairlead/event-sourcing/spec';
import { manifests, planFor, type ApplyManifest, type ManifestState } from './manifests.decider.js';

export const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;

export const named = { namespace: 'default', cluster: 'demo' as ClusterName };

export const machines = {
  connection: 'lab' as DeclaredPool['connection'],
  machineType: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
};

export const pool = (name: string, replicas: number): DeclaredPool => ({ name, replicas, ...machines });

export const declared = (...pools: readonly DeclaredPool[]): DeclaredSpec => ({
  version: 'v1.34.4' as DeclaredSpec['version'],
  serviceType: 'single',
  loadBalancer: 'haproxy',
  network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
  controlPlane: { replicas: 1, ...machines, etcd: 'local', schedulable: false },
  pools: [...pools],
});

export const UPGRADE: ApplyManifest['data']['upgrade'] = {
  upgradeId: 'u-000001' as never,
  target: { kubernetes: 'v1.35.4' as never, renewCertificates: false, reboot: false },
  pools: null,
  controlPlane: true,
  strategy: UpgradeStrategy.parse({}),
  overrides: [],
  requestHash: 'hash',
};

/** The log of a cluster, with what infra-svc and bootstrap-svc would say. */
export class Log {
  state: ManifestState = manifests.initial;
  private seq = 0;
  private machinesEver = 0;

  say(...facts: readonly Fact[]): this {
    for (const fact of facts) this.state = manifests.evolve(this.state, stored(fact, (this.seq += 1)));
    return this;
  }

  apply(spec: DeclaredSpec, change: Partial<ApplyManifest['data']> = {}): readonly Fact[] | RefusalCode {
    const outcome = manifests.decide(this.state, {
      type: 'ApplyManifest',
      data: {
        ...named,
        spec,
        plan: planFor(this.state, spec),
        seen: this.state,
        dryRun: false,
        uid,
        requestId: `r${this.seq}`,
        requestHash: 'hash',
        actor: 'user/spec',
        connectionFaults: [],
        upgrade: UPGRADE,
        ...change,
      },
    });
    return isRefusal(outcome) ? outcome.code : outcome;
  }

  /** Applies it and lets everything that was requested happen. */
  carryOut(spec: DeclaredSpec): readonly string[] {
    const facts = this.apply(spec);
    if (typeof facts === 'string') throw new Error(facts);
    this.say(...facts);
    for (const fact of facts) this.answer(fact);
    return facts.map(({ type }) => type);
  }

  private answer(fact: Fact): void {
    if (fact.type === 'NodeRemovalRequested') this.say({ type: 'VmDeleted', data: { uid, name: fact.data.node } });
    if (fact.type === 'ClusterRequested') {
      const { controlPlane, workers } = fact.data.spec;
      this.say({ type: 'ClusterAccepted', data: { uid } });
      this.plan([{ ...controlPlane, pool: 'control-plane' }, ...workers]);
    }
    if (fact.type === 'NodesRequested') this.plan(requestedSets(fact.data), fact.data.requestId);
  }

  private plan(
    sets: readonly { readonly count: number; readonly pool?: string | undefined }[],
    requestId?: string,
  ): void {
    const plans = sets.flatMap(({ count, pool: name = 'unnamed' }) =>
      Array.from({ length: count }, () => this.machine(name)),
    );
    this.say(
      { type: 'VmsPlanned', data: { uid, machines: plans, ...(requestId === undefined ? {} : { requestId }) } },
      { type: 'VmsCreated', data: { uid, machines: plans } } as unknown as Fact,
      ...plans.map(({ name }) => nodeReady(name)),
      { type: 'ClusterReady', data: { uid } },
    );
  }

  private machine(name: string): MachinePlan {
    this.machinesEver += 1;
    const role = name === 'control-plane' ? 'control-plane' : 'worker';
    const leader = this.machinesEver === 1;
    return {
      name: `demo-${this.machinesEver}`,
      role,
      pool: name,
      leader,
      spec: 's',
      ...machines,
    } as unknown as MachinePlan;
  }
}

export const nodeReady = (node: string): Fact =>
  ({ type: 'NodeReady', data: { uid, node, revision: 1, software: {} } }) as unknown as Fact;

export const provisioned = (...pools: readonly DeclaredPool[]): Log => {
  const log = new Log();
  log.carryOut(declared(...pools));
  return log;
};

export const typesOf = (outcome: readonly Fact[] | RefusalCode): readonly string[] | RefusalCode =>
  typeof outcome === 'string' ? outcome : outcome.map(({ type }) => type);
