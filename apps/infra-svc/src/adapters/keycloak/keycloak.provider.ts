import { keycloakUrlsOf } from '@fairlead/contracts';
import { RealmFailure, type IdentityProvider, type RealmAccess } from '../../realms/realm.ports.js';
import { AccessToken, Anything, Discovery } from './keycloak.answers.js';
import { KeycloakHttp, type RealmHttp } from './keycloak.client.js';
import { KeycloakRealm } from './keycloak.realm.js';

/** The credential must not be sent anywhere else. */
const tokenEndpointOf = async (http: KeycloakHttp, { name, issuerUrl }: RealmAccess, signal: AbortSignal) => {
  const url = `${issuerUrl}/.well-known/openid-configuration`;
  const discovery = await http.read({ method: 'GET', url }, Discovery, signal);
  const invalid = (what: string): RealmFailure =>
    new RealmFailure('RealmInvalid', `realm ${name}: the discovery document of ${issuerUrl} ${what}`);
  if (discovery.issuer !== issuerUrl) throw invalid('names another issuer');
  if (discovery.device_authorization_endpoint === undefined)
    throw invalid('has no device authorization endpoint, which kubectl needs to sign users in');
  const { origin } = new URL(issuerUrl);
  if (new URL(discovery.token_endpoint).origin !== origin) throw invalid('has its token endpoint on another host');
  return discovery.token_endpoint;
};

/** Keycloak: a client with a service account that has the roles manage-clients and manage-users of its realm. */
export const keycloak = (world: RealmHttp): IdentityProvider => ({
  name: 'keycloak',
  open: async (access, signal) => {
    const http = new KeycloakHttp(world, access);
    const urls = keycloakUrlsOf(access.issuerUrl);
    if (urls === undefined)
      throw new RealmFailure('RealmInvalid', `${access.issuerUrl} is not the issuer of a realm of Keycloak`);
    const url = await tokenEndpointOf(http, access, signal);
    const { clientId: client_id, clientSecret: client_secret } = access;
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    const { access_token: token } = await http.read({ method: 'POST', url, form }, AccessToken, signal);
    // Permission to manage requires permission to view.
    for (const path of ['clients?max=1', 'groups?max=1'])
      await http.read({ method: 'GET', url: `${urls.admin}/${path}`, token }, Anything, signal);
    return new KeycloakRealm(http, urls.admin, token);
  },
});
