import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api.error.js';
import type { ResourceRequest } from './request.info.js';

const notSimulated = (what: string): ApiError =>
  new ApiError(501, 'NotImplemented', `this cluster is a simulation (Fairlead lab): ${what}`);

/** What needs containers, or identities beside those of the cluster itself; by resource and subresource. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  'pods/attach': 'its containers are no processes that one could attach to',
  'pods/portforward': 'its pods listen on no ports that could be forwarded',
  'pods/ephemeralcontainers': 'its pods run no containers, so none can be added to debug them',
  'serviceaccounts/token': 'it issues no tokens for service accounts',
};

export const RBAC_NOT_EVALUATED =
  'it stores RBAC objects and does not evaluate them, so it cannot say what a user may do';

/** Ends a request for what other clusters have and the simulation has not. @throws {ApiError} 501 that says so. */
export const refuseNotSimulated = (info: ResourceRequest, { headers }: Pick<IncomingMessage, 'headers'>): void => {
  const subresource = SUBRESOURCES[`${info.plural}/${info.subresource ?? ''}`];
  if (info.group === '' && subresource !== undefined) throw notSimulated(subresource);
  if (info.group === 'autoscaling' && info.verb === 'create')
    throw notSimulated('nothing in it uses CPU, so that nothing can be scaled by it');
  if (headers['impersonate-user'] !== undefined) throw notSimulated(RBAC_NOT_EVALUATED);
};
