import { imagesOf, releaseOf, ExternalFailure, type KubernetesRelease, type SecretRef } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { peerOfUrl, renderStep, type EtcdMemberInput, type EtcdPeer } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { hostsOf, isControlPlane, type Cluster, type Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { ETCD_AUTHORITIES, HOST_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import type { HostAccess } from '../hosts/host.access.js';
import { tuningOf, versionOn } from '../hosts/node.settings.js';
import type { EtcdAuthority } from './etcd.authority.js';
import { onAnother } from './etcd.members.js';

/** The source of the CA of a cluster's etcd. */
export interface Authorities {
  of(uid: string): Promise<{ readonly authority: Pick<EtcdAuthority, 'certificatesOf'>; readonly ref: SecretRef }>;
}

/** A cluster has at most seven control planes, so all of them are processed at once. */
const membersOf = (cluster: Cluster): readonly Host[] =>
  hostsOf(cluster).filter((host) => isControlPlane(host) && host.removal === 'none');

const peerOf = ({ machine }: Host): EtcdPeer => ({ name: machine.name, address: machine.privateIp });

/** Waits for all, so that no work on a host continues after the step has failed. */
const allOf = async <T>(works: readonly Promise<T>[]): Promise<void> => {
  const failed = (await Promise.allSettled(works)).find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
};

const knownRelease = ({ spec: { name: target }, releases }: Cluster, version: string): KubernetesRelease => {
  const release = releaseOf(version, releases);
  if (release !== undefined) return release;
  const message = `Kubernetes ${version} is not among the supported releases`;
  throw new ExternalFailure({ operation: 'set up etcd', target, message, retryable: false });
};

/**
 * Creates the external etcd: a member on each control plane's host, healthy before kubeadm init, and before each
 * further control plane joins.
 */
@Controller()
export class ExternalEtcdEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(ETCD_AUTHORITIES) private readonly authorities: Authorities,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'tuning'>,
  ) {}

  @OnTask('SetupExternalEtcd', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 15 * 60_000 })
  async setUp(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, spec } = cluster;
    const release = knownRelease(cluster, spec.kubernetes.version);
    const { authority, ref } = await this.authorities.of(uid);
    const members = membersOf(cluster);
    const peers = members.map(peerOf);
    await allOf(
      members.map(async (host) => {
        const certificates = await authority.certificatesOf(peerOf(host));
        return this.start(step, host, {
          uid,
          members: peers,
          joins: false,
          certificates,
          ...this.softwareOf(host, release),
        });
      }),
    );
    await allOf(members.map((host) => this.verify(step, host, members.length)));
    await step.record({
      type: 'EtcdReady',
      data: {
        uid,
        version: this.softwareOf(members[0], release).version,
        members: members.map(({ machine }) => ({ node: machine.name, address: machine.privateIp })),
        caRef: ref,
      },
    });
  }

  /**
   * A further member precedes the join of its control plane. It is a learner until it has all data, and only then
   * counts for the quorum. Can be repeated after a crash at any point.
   */
  @OnTask('AddEtcdMember', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 25 * 60_000 })
  async addMember(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid } = cluster;
    const host = hostOf(step);
    const self = peerOf(host);
    const release = knownRelease(cluster, versionOn(cluster, host));
    const { authority } = await this.authorities.of(uid);
    const operation = 'add the etcd member';
    const known = await onAnother(this.hosts, step, host, {
      operation,
      work: (worker) => worker.run(renderStep('etcd-add-member', self)),
    });
    const certificates = await authority.certificatesOf(self);
    const members = known.members.map(peerOfUrl);
    await this.start(step, host, { uid, members, joins: true, certificates, ...this.softwareOf(host, release) });
    const promoted = await onAnother(this.hosts, step, host, {
      operation,
      work: (worker) => worker.run(renderStep('etcd-promote-member', self)),
    });
    await step.record({
      type: 'EtcdMemberAdded',
      data: { uid, node: host.machine.name, address: self.address, members: promoted.members },
    });
  }

  private start(step: RunningTask, host: Host, input: Omit<EtcdMemberInput, 'self'>): Promise<unknown> {
    const rendered = renderStep('etcd-member', { ...input, self: peerOf(host) });
    return this.hosts.on(host, step, (worker) => worker.run(rendered));
  }

  /** Every member is asked for all of them, because each one must be reachable from each other one. */
  private verify(step: RunningTask, host: Host, members: number): Promise<unknown> {
    return this.hosts.on(host, step, (worker) => worker.run(renderStep('etcd-health', { members })));
  }

  /** The image of kubeadm's own etcd; its programs run without a container. */
  private softwareOf(
    host: Host | undefined,
    release: KubernetesRelease,
  ): Pick<EtcdMemberInput, 'image' | 'version' | 'pull'> {
    const profile = host?.machine.profile;
    const { imageRepository } = tuningOf(this.settings.tuning, profile);
    const image = imagesOf(release, imageRepository).find(({ name }) => name === 'etcd');
    if (image === undefined) throw new Error(`Kubernetes ${release.version} names no image of etcd`);
    const pull = profile?.source === undefined || profile.source.kind === 'packages';
    return { image: image.reference, version: release.etcd.replace(/-\d+$/, ''), pull };
  }
}
