import type { ChaosApi, ApiResponse } from './api.js';

const ANSWER_TIMEOUT_MS = 120_000;
const LIVE_MAX = 6;
const GROWTH_MAX = 3;
const SPEC = 'lab.medium';

export interface NodeView {
  readonly name: string;
  readonly role: string;
  readonly ready: boolean;
  readonly phase: string;
}

export interface ClusterView {
  readonly name: string;
  readonly status: { readonly phase: string; readonly reason: string; readonly message: string };
  readonly nodes: readonly NodeView[];
}

/** A request that was accepted. */
export interface Desired {
  readonly name: string;
  readonly controlPlanes: number;
  workers: number;
  growths: number;
  deleted: boolean;
}

export interface Tally {
  created: number;
  grown: number;
  deleted: number;
}

export const pathOf = (name: string): string => `/ns/default/clusters/${name}`;

/** Creates, scales and deletes clusters over REST, one request at a time, and remembers the desired state of each. */
export class ChaosClusters {
  readonly desired: Desired[] = [];
  readonly violations: string[] = [];
  readonly tally: Tally = { created: 0, grown: 0, deleted: 0 };

  constructor(
    private readonly api: ChaosApi,
    private readonly random: () => number,
  ) {}

  /** Makes one change that is currently possible. */
  async change(): Promise<void> {
    const live = this.desired.filter(({ deleted }) => !deleted);
    const lot = this.random();
    const chosen = live[Math.floor(this.random() * live.length)];
    if (chosen === undefined || (live.length < LIVE_MAX && lot < 0.5)) return this.create();
    if ((await this.view(chosen.name)).body.status?.phase !== 'Provisioned') return;
    if (lot < 0.75 && chosen.growths < GROWTH_MAX) return this.grow(chosen);
    return this.delete(chosen);
  }

  view(name: string): Promise<ApiResponse<Partial<ClusterView>>> {
    return this.api.ask({ method: 'GET', path: pathOf(name) }, ANSWER_TIMEOUT_MS);
  }

  private async create(): Promise<void> {
    const name = `chaos-${this.desired.length + 1}`;
    const controlPlanes = this.random() < 0.5 ? 1 : 3;
    const workers = 1 + Math.floor(this.random() * 3);
    const body = {
      name,
      controlPlane: [{ connection: 'lab', count: controlPlanes, spec: SPEC }],
      worker: [{ connection: 'lab', count: workers, spec: SPEC }],
      serviceType: 'single',
      config: { kubernetes: { networkCni: 'flannel' } },
    };
    const desired: Desired = { name, controlPlanes, workers, growths: 0, deleted: false };
    this.desired.push(desired);
    const request = { method: 'POST', path: '/ns/default/clusters', body, key: `create-${name}` };
    if (await this.taken(await this.api.ask(request, ANSWER_TIMEOUT_MS), `create ${name}`)) this.tally.created += 1;
    else {
      desired.deleted = true;
      this.violations.push(`create ${name} was refused, and its name was free`);
    }
  }

  private async grow(desired: Desired): Promise<void> {
    const count = 1 + Math.floor(this.random() * 2);
    desired.growths += 1;
    const request = {
      method: 'POST',
      path: `${pathOf(desired.name)}/nodes`,
      body: { worker: [{ connection: 'lab', count, spec: SPEC }] },
      key: `grow-${desired.name}-${desired.growths}`,
    };
    if (!(await this.taken(await this.api.ask(request, ANSWER_TIMEOUT_MS), `grow ${desired.name}`))) return;
    desired.workers += count;
    this.tally.grown += 1;
  }

  private async delete(desired: Desired): Promise<void> {
    const request = { method: 'DELETE', path: pathOf(desired.name) };
    if (!(await this.taken(await this.api.ask(request, ANSWER_TIMEOUT_MS), `delete ${desired.name}`))) return;
    desired.deleted = true;
    this.tally.deleted += 1;
  }

  /** 409 is "not now"; any other refusal is a finding. */
  private async taken({ status, body }: ApiResponse<unknown>, what: string): Promise<boolean> {
    if (status < 300) return true;
    if (status !== 409) this.violations.push(`${what} was answered with ${status}: ${JSON.stringify(body)}`);
    return false;
  }
}
