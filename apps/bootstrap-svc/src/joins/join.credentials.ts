import { ExternalFailure } from '@fairlead/contracts';
import { renderStep, type JoinCredentials } from '@fairlead/node-scripts';
import type { Clock } from '@fairlead/service-kit';
import * as z from 'zod';
import { controlPlanesOf, initialControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import type { Settings } from '../config.js';
import type { HostAccess } from '../hosts/host.access.js';
import { clusterSettings } from '../hosts/node.settings.js';
import { joinCredentialsRef } from '../kubernetes/cluster.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';

/** A token with less than this share of its lifetime left is not used for a new join. */
const TOKEN_LEFT_MIN = 0.5;

/** Maximum clock skew of a control plane ahead of this service. */
const CLOCK_SKEW_MS = 60_000;

/** The errors of kubeadm (discovery by token) and API servers about a token that no longer exists. */
const TOKEN_REFUSED = [
  /could not find a JWS signature in the cluster-info ConfigMap for token ID/,
  /token (id )?\S* ?(is|has) (invalid|expired)/i,
  /Unauthorized/,
];

const isTokenRefused = (message: string): boolean => TOKEN_REFUSED.some((words) => words.test(message));

const Sealed = z.strictObject({ token: z.string(), caCertHash: z.string(), expiresAt: z.iso.datetime() });
type Sealed = z.infer<typeof Sealed>;

type Issued = JoinCredentials & { readonly certificateKey: string | null };

/** Credentials with the expiry of their token. */
export type EndingCredentials = JoinCredentials & { readonly expiresAt: string };

/** Join credentials: created on a control plane, sealed with their expiry, and created again when they are too old. */
export class JoinCredentialsSource {
  private readonly issuing = new Map<string, Promise<EndingCredentials>>();

  constructor(
    private readonly hosts: HostAccess,
    private readonly secrets: RememberedSecrets,
    private readonly clock: Clock,
    private readonly settings: Pick<Settings, 'tuning' | 'joinTokenTtlSeconds'>,
  ) {}

  /** New credentials for a single control plane, with the certificates encrypted by a separate key. */
  async forControlPlane(step: RunningTask): Promise<EndingCredentials & { readonly certificateKey: string }> {
    const expiresAt = this.endOfNext();
    const { certificateKey, ...credentials } = await this.issue(step, true);
    if (certificateKey === null) throw new Error('the step credentials was asked for certificates and gave none');
    return { ...credentials, certificateKey, expiresAt };
  }

  /**
   * One token for the workers of the next minutes. After a failure a new one is created, because the old one may be the
   * reason.
   */
  async forWorker(step: RunningTask): Promise<EndingCredentials> {
    const sealed = step.attempt === 1 ? await this.unseal(step.state.cluster.uid) : undefined;
    return sealed ?? this.renewed(step);
  }

  /** A new token for the workers of the next minutes, even if the previous one has not expired. */
  async renewed(step: RunningTask): Promise<EndingCredentials> {
    const { uid } = step.state.cluster;
    const underWay = this.issuing.get(uid);
    if (underWay !== undefined) return underWay;
    const made = this.issueForWorkers(step).finally(() => this.issuing.delete(uid));
    this.issuing.set(uid, made);
    return made;
  }

  private async issueForWorkers(step: RunningTask): Promise<EndingCredentials> {
    const { uid } = step.state.cluster;
    const expiresAt = this.endOfNext();
    const { token, caCertHash } = await this.issue(step, false);
    const sealed: Sealed = { token, caCertHash, expiresAt };
    await this.secrets.put(joinCredentialsRef(uid), JSON.stringify(sealed), uid);
    return sealed;
  }

  /** Computed before the token is issued, so that it never expires earlier. */
  private endOfNext(): string {
    return new Date(this.clock.now().getTime() + this.settings.joinTokenTtlSeconds * 1_000).toISOString();
  }

  /** Whether a join failed because its token had expired meanwhile. */
  hasEnded({ expiresAt }: EndingCredentials, error: unknown): error is ExternalFailure {
    return (
      error instanceof ExternalFailure &&
      isTokenRefused(error.message) &&
      this.clock.now().getTime() >= Date.parse(expiresAt) - CLOCK_SKEW_MS
    );
  }

  private async unseal(uid: string): Promise<EndingCredentials | undefined> {
    const text = await this.secrets.get(joinCredentialsRef(uid));
    if (text === undefined) return undefined;
    const { token, caCertHash, expiresAt } = Sealed.parse(JSON.parse(text));
    const leftMs = Date.parse(expiresAt) - this.clock.now().getTime();
    const leftMinMs = this.settings.joinTokenTtlSeconds * TOKEN_LEFT_MIN * 1_000;
    return leftMs < leftMinMs ? undefined : { token, caCertHash, expiresAt };
  }

  /** Issues them on the initial control plane, or on another one if that is lost. */
  private async issue(step: RunningTask, certificates: boolean): Promise<Issued> {
    const { controlPlane, spec } = step.state.cluster;
    if (controlPlane === null) throw new Error('the plan lets no node join before the control plane is initialised');
    const cluster = clusterSettings(step.state.cluster, this.settings.tuning);
    const issuers = this.issuers(step);
    let failure: Error = new ExternalFailure({
      operation: 'issue join credentials',
      target: spec.name,
      message: 'the cluster has no control plane that could',
    });
    for (const [index, issuer] of issuers.entries()) {
      try {
        const last = index === issuers.length - 1;
        const open = last ? this.hosts.on.bind(this.hosts) : this.hosts.onIfAlive.bind(this.hosts);
        const address = issuer.machine.privateIp;
        const input = { cluster, address, tokenTtlSeconds: this.settings.joinTokenTtlSeconds, certificates };
        const { token, certificateKey } = await open(issuer, step, (worker) =>
          worker.run(renderStep('credentials', input)),
        );
        return { token, certificateKey, caCertHash: controlPlane.caCertHash };
      } catch (error) {
        step.signal.throwIfAborted();
        failure = error instanceof Error ? error : new Error(String(error));
      }
    }
    throw failure;
  }

  private issuers({ state, data }: RunningTask): readonly Host[] {
    const initial = initialControlPlane(state.cluster);
    const joined = controlPlanesOf(state.cluster).filter(
      (host) => host.joinedAt !== null && host.removal !== 'drained' && host.machine.name !== data.node,
    );
    return joined.toSorted((one, other) => Number(other === initial) - Number(one === initial));
  }
}
