import { ExternalFailure } from '@fairlead/contracts';
import type { HostState, ProviderOperation } from './provider.ports.js';

/** Every host of an inventory was inspected, and none can become a node. */
export class UnusableHosts extends ExternalFailure {
  constructor(
    at: { readonly operation: ProviderOperation; readonly target: string },
    readonly hosts: readonly HostState[],
  ) {
    const [first] = hosts;
    super({ ...at, message: `none of its ${hosts.length} hosts can be used; ${first?.name}: ${first?.problem}` });
  }
}
