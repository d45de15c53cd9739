import { apiNameOf, tunnelKeyRef, type ClusterUid, type PublicationBlock } from '@fairlead/contracts';
import { publishableServices, signInOf, type Publication } from '@fairlead/domain';
import { OnTask, type RequeueAfter, type TaskContext, type TaskPolicy } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { SshKeys } from '../resources/resources.ports.js';
import { PUBLISH_SETTINGS, SSH_KEYS, TUNNEL_NAMES } from '../tokens.js';
import type { PublicationCommand } from './publication.decider.js';
import type { PublishSettings, TunnelNames } from './publication.ports.js';
import { FOLLOW_ENDPOINT, RELEASE_ENDPOINT, RESERVE_ENDPOINT } from './publication.reconciler.js';
import type { Names, PresentNames } from './publication.state.js';

export type PublicationTask = TaskContext<Names, PublicationCommand>;

const POLICY: Partial<TaskPolicy> = {
  attemptsMax: 75,
  backoffFirstMs: 1_000,
  backoffMaxMs: 60_000,
  timeoutMs: 30_000,
};

const BLOCKED_AGAIN_MS = 10_000;
const BUSY_AGAIN_MS = 1_000;
/** With the lifetime of what a tunnel says, and the time in which it notices a cut wire, far less than two minutes. */
export const POLL_INTERVAL_MS = 5_000;

const presentOf = ({ state, key }: PublicationTask): PresentNames => {
  if (state.stage === 'absent') throw new Error(`${key} is desired without a cluster`);
  return state;
};

const withoutComment = (publicKey: string): string => publicKey.split(' ').slice(0, 2).join(' ');

/** Reserves the name of a cluster's API for a key of its own, follows who holds it, and frees it with the cluster. */
@Controller()
export class PublicationEffects {
  constructor(
    @Inject(TUNNEL_NAMES) private readonly names: TunnelNames,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(SSH_KEYS) private readonly sshKeys: SshKeys,
    @Inject(PUBLISH_SETTINGS) private readonly settings: PublishSettings | undefined,
  ) {}

  @OnTask(RESERVE_ENDPOINT, POLICY)
  async reserve(task: PublicationTask): Promise<RequeueAfter | undefined> {
    const { uid } = presentOf(task);
    if (this.settings === undefined)
      return this.blocked(task, 'NoDomain', 'this installation has no domain for names of clusters (PUBLISH_DOMAIN)');
    const { domain, port, tunnel } = this.settings;
    const name = apiNameOf(task.cluster, domain);
    const publicKey = await this.publicKey(uid);
    const reserved = await this.names.reserve(name, { uid, publicKey });
    if (reserved.uid !== uid)
      return this.blocked(task, 'NameTaken', `the name ${name} is reserved for another cluster`);
    const data = { uid, name, port, publicKey, keyRef: tunnelKeyRef(uid), tunnel };
    await task.record({ type: 'RecordReservation', data });
    return undefined;
  }

  @OnTask(FOLLOW_ENDPOINT, POLICY)
  async follow(task: PublicationTask): Promise<RequeueAfter | undefined> {
    const { uid, publication } = presentOf(task);
    const { reserved } = publication;
    if (reserved === undefined) return undefined;
    const { name, publicKey } = reserved;
    // The log is the truth: a bucket that was lost is filled again.
    await this.names.reserve(name, { uid, publicKey });
    await task.record({ type: 'RecordHeld', data: { uid, name, isAvailable: await this.names.isHeld(name) } });
    await this.publishServices(task, reserved);
    return task.requeueAfter(POLL_INTERVAL_MS, 'who holds the name changes without an event');
  }

  /**
   * What is published is recorded before a name is reserved and after it is freed, so that a crash in between leaves no
   * name behind.
   */
  private async publishServices(
    task: PublicationTask,
    { port, publicKey }: NonNullable<Publication['reserved']>,
  ): Promise<void> {
    const { uid, stage, publication, client } = presentOf(task);
    const recorded = publication.services ?? [];
    // While it is deleted, its nodes still run, and nothing is added.
    const wanted = stage === 'accepted' ? publishableServices(publication, client) : recorded;
    const names = new Set<string>(wanted.map(({ fqdn }) => fqdn));
    for (const { fqdn } of recorded) if (!names.has(fqdn)) await this.names.release(fqdn, uid);
    const after = await task.record({ type: 'RecordServices', data: { uid, services: [...wanted] } });
    if (client === undefined || after.stage === 'absent') return;
    // Nothing would free the name of a service that was not recorded because the cluster is deleted meanwhile.
    const published = new Set(after.publication.services?.map(({ fqdn }) => fqdn));
    for (const service of wanted.filter(({ fqdn }) => published.has(fqdn))) {
      const name = service.fqdn;
      const isOwn = await this.names.keep(name, { uid, publicKey, signIn: signInOf(service, client, port) });
      const isAvailable = isOwn && (await this.names.isHeld(name));
      await task.record({ type: 'RecordServiceHeld', data: { uid, name, isAvailable } });
    }
  }

  /** The name first: when the key is destroyed, no client connects with it. */
  @OnTask(RELEASE_ENDPOINT, POLICY)
  async release(task: PublicationTask): Promise<RequeueAfter | undefined> {
    const { uid, publication } = presentOf(task);
    const others = await task.othersAtWork();
    if (others.some((key) => key === RESERVE_ENDPOINT || key === FOLLOW_ENDPOINT))
      return task.requeueAfter(BUSY_AGAIN_MS, 'its names are being reserved');
    const name =
      publication.reserved?.name ??
      (this.settings === undefined ? undefined : apiNameOf(task.cluster, this.settings.domain));
    for (const { fqdn } of publication.services ?? []) await this.names.release(fqdn, uid);
    if (name !== undefined) await this.names.release(name, uid);
    await this.secrets.delete(tunnelKeyRef(uid));
    await this.secrets.destroyKey(uid);
    await task.record({ type: 'RecordRelease', data: { uid, ...(name === undefined ? {} : { name }) } });
    return undefined;
  }

  /** One for each cluster, made once. What is sealed counts: another replica may have written it at the same time. */
  private async publicKey(uid: ClusterUid): Promise<string> {
    const ref = tunnelKeyRef(uid);
    const sealed = await this.secrets.get(ref);
    if (sealed !== undefined) return withoutComment(this.sshKeys.read(sealed, '').publicKey);
    const pair = this.sshKeys.generate('fairlead-tunnel');
    await this.secrets.put(ref, pair.privateKey, uid);
    return withoutComment(this.sshKeys.read((await this.secrets.get(ref)) ?? pair.privateKey, '').publicKey);
  }

  private async blocked(task: PublicationTask, reason: PublicationBlock, message: string): Promise<RequeueAfter> {
    const { uid } = presentOf(task);
    await task.record({ type: 'Block', data: { uid, reason, message } });
    return task.requeueAfter(BLOCKED_AGAIN_MS, message);
  }
}
