import type { AgentProfile, NodeChange, SoftwareVersions } from '@fairlead/contracts';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { HostSoftware } from '../software/host.software.js';
import type { KnownReleases } from '../node/known.releases.js';
import type { StaticPodParts } from './static.pods.js';

/** What a phase works with. */
export interface PhaseParts extends StaticPodParts {
  readonly host: HostPort;
  readonly software: HostSoftware;
  /** Absent: only the built-in releases are known. */
  readonly releases?: KnownReleases | undefined;
  readonly log: AgentLog;
  readonly now: () => Date;
  /** Preflight errors that kubeadm ignores on a host of this kind; an upgrade does not remember those of init and join. */
  readonly profile: AgentProfile;
  /** undefined: a host whose files are not removed, as those of the lab's light mode. */
  readonly removeFile: ((path: string) => Promise<void>) | undefined;
  /** undefined: a host that has only small text files. */
  readonly copyFile?: ((from: string, to: string, mode: number) => Promise<void>) | undefined;
  /** Everything else that is desired of the host, as it always is ensured. Throws where it fails. */
  readonly ensureRest: () => Promise<void>;
}

/** What a later phase, or a later attempt, needs of an earlier one. */
export interface Remembered {
  /** The API server that kubelet.conf named before it was pointed at the balanced one; null: it names its own. */
  readonly ownServer: string | null;
  /** A digest of what the kubelet was started with; null: this change has started none. */
  readonly startedKubelet: string | null;
}

/** What a phase is about. */
export interface PhaseTask extends Remembered {
  readonly change: NodeChange;
  readonly desired: SoftwareVersions;
  readonly remember: (more: Partial<Remembered>) => Promise<void>;
  /** kubeadm or the kubelet were begun before, and how far that came is unknown. */
  readonly isRepeated: boolean;
}
