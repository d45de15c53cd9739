import { ExternalFailure } from '@fairlead/contracts';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { serviceFindings, type ServiceFindings } from './services.planner.js';

/** The Services of one cluster that ask to be published, listed along with its Nodes. */
export class ServicesWatch {
  private taken: readonly string[] | undefined;

  /** undefined: they were not listed this time. Whether they can be listed proves nothing of the Nodes. */
  async look(api: Pick<UpgradeCluster, 'publishedServices'>): Promise<ServiceFindings | undefined> {
    if (this.taken === undefined) return undefined;
    try {
      return serviceFindings(await api.publishedServices(), this.taken);
    } catch (error) {
      if (error instanceof ExternalFailure) return undefined;
      throw error;
    }
  }

  /** By the log: names that the cluster uses itself; undefined: nothing of it is published. */
  areTaken(names: readonly string[] | undefined): void {
    this.taken = names;
  }
}
