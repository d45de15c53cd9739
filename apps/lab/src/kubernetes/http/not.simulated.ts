import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api.error.js';
import type { ResourceRequest } from './request.info.js';

const notSimulated = (what: string): ApiError =>
  new ApiError(501, 'NotImplemented', `this cluster is a simulation (Fairlead lab): ${what}`);

/** Subresources that need containers or other identities, with the reason why they are not simulated. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  'pods/attach': 'its containers are no processes that one could attach to',
  'pods/portforward': 'its pods listen on no ports that could be forwarded',
  'pods/ephemeralcontainers': 'its pods run no containers, so none can be added to debug them',
  'serviceaccounts/token': 'it issues no tokens for service accounts',
};

export const RBAC_NOT_EVALUATED =
  'it stores RBAC objects and does not evaluate them, so it cannot say what a user may do';

/** Rejects requests that other clusters support and the simulation does not. @throws {ApiError} 501 */
export const refuseNotSimulated = (info: ResourceRequest, { headers }: Pick<IncomingMessage, 'headers'>): void => {
  const subresource = SUBRESOURCES[`${info.plural}/${info.subresource ?? ''}`];
  if (info.group === '' && subresource !== undefined) throw notSimulated(subresource);
  if (info.group === 'autoscaling' && info.verb === 'create')
    throw notSimulated('nothing in it uses CPU, so that nothing can be scaled by it');
  if (headers['impersonate-user'] !== undefined) throw notSimulated(RBAC_NOT_EVALUATED);
};
