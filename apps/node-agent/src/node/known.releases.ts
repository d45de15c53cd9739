import type { KubernetesRelease } from '@fairlead/contracts';

/** The releases that the desired state of this node names and that are not built in. */
export class KnownReleases {
  private named: readonly KubernetesRelease[] = [];

  learn(releases: readonly KubernetesRelease[] = []): void {
    this.named = releases;
  }

  get all(): readonly KubernetesRelease[] {
    return this.named;
  }
}
