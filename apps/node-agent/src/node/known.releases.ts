import type { KubernetesRelease } from '@fairlead/contracts';

/** The releases in the desired state of this node that are not built in. */
export class KnownReleases {
  private named: readonly KubernetesRelease[] = [];

  learn(releases: readonly KubernetesRelease[] = []): void {
    this.named = releases;
  }

  get all(): readonly KubernetesRelease[] {
    return this.named;
  }
}
