import type { Oidc } from '@fairlead/contracts';
import { stringify } from 'yaml';

/** The folder is mounted, not the file: a container keeps the old version of a replaced single file. */
export const AUTHENTICATION_FOLDER = '/etc/kubernetes/authentication';
export const AUTHENTICATION_FILE = `${AUTHENTICATION_FOLDER}/config.yaml`;

const authenticator = (oidc: Oidc): object => ({
  issuer: {
    url: oidc.issuerUrl,
    audiences: [oidc.clientId],
    ...(oidc.ca === undefined ? {} : { certificateAuthority: oidc.ca }),
  },
  claimValidationRules: Object.entries(oidc.requiredClaims ?? {}).map(([claim, requiredValue]) => ({
    claim,
    requiredValue,
  })),
  claimMappings: {
    username: { claim: oidc.usernameClaim, prefix: oidc.usernamePrefix },
    groups: { claim: oidc.groupsClaim, prefix: oidc.groupsPrefix },
  },
});

/**
 * The file for kube-apiserver's --authentication-config: trusted token issuers besides certificates. Every supported
 * release reads v1beta1; 1.30 to 1.33 do not know v1, and an upgrade can be rolled back to them.
 */
export const authenticationConfig = (oidc: Oidc | undefined): string =>
  stringify(
    {
      apiVersion: 'apiserver.config.k8s.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      jwt: oidc === undefined ? [] : [authenticator(oidc)],
    },
    { lineWidth: 0 },
  );
