import { apiAddressesOf, inventoryOf, refuse, type Refusal } from '@fairlead/contracts';
import type { MachineFields, Registered } from '@fairlead/domain';

/**
 * Why an inventory cannot have several control planes: their API has no address that outlives one of them. What is
 * wrong with the connection otherwise is said elsewhere.
 */
export const apiAddressFaults = (
  { connections }: Registered,
  { connection, count }: { readonly connection: string; readonly count: number },
  fields: Pick<MachineFields, 'connection'>,
): readonly Refusal[] => {
  const known = connections.get(connection);
  const settings = known === undefined ? undefined : inventoryOf(known);
  if (count < 2 || settings === undefined) return [];
  const isReached = settings.apiEndpoint !== undefined || apiAddressesOf(settings).length > 0;
  return isReached ? [] : [refuse('stock.api-address-missing', { connection, count }, fields.connection)];
};
