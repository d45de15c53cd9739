import type { AgentProfile, NodeChange, SoftwareVersions } from '@fairlead/contracts';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { HostSoftware } from '../software/host.software.js';
import type { KnownReleases } from '../node/known.releases.js';
import type { StaticPodParts } from './static.pods.js';

/** The dependencies of a phase. */
export interface PhaseParts extends StaticPodParts {
  readonly host: HostPort;
  readonly software: HostSoftware;
  /** Absent: only the built-in releases are known. */
  readonly releases?: KnownReleases | undefined;
  readonly log: AgentLog;
  readonly now: () => Date;
  /**
   * Preflight errors that kubeadm ignores on this kind of host; an upgrade does not remember those of init and join.
   */
  readonly profile: AgentProfile;
  /** undefined: a host whose files are not removed, as in the lab's light mode. */
  readonly removeFile: ((path: string) => Promise<void>) | undefined;
  /** undefined: a host that has only small text files. */
  readonly copyFile?: ((from: string, to: string, mode: number) => Promise<void>) | undefined;
  /** Ensures all other desired settings of the host, as usual. Throws if that fails. */
  readonly ensureRest: () => Promise<void>;
}

/** State that a phase passes to later phases and attempts. */
export interface Remembered {
  /** The API server in kubelet.conf before it was switched to the balanced one; null: it is the node's own. */
  readonly ownServer: string | null;
  /** A digest of the settings with which the kubelet was started; null: this change has not started it. */
  readonly startedKubelet: string | null;
}

/** The input of a phase. */
export interface PhaseTask extends Remembered {
  readonly change: NodeChange;
  readonly desired: SoftwareVersions;
  readonly remember: (more: Partial<Remembered>) => Promise<void>;
  /** Whether the kubeadm or kubelet phase was started before, with unknown progress. */
  readonly isRepeated: boolean;
}
