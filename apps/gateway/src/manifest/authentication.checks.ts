import { refuse, type ManifestSpec, type Refusal } from '@fairlead/contracts';
import { certificateFault } from '@fairlead/parsers/certificates';

/** An API server does not start with a certificate that it cannot read. */
export const issuerCertificateFaults = ({ authentication }: ManifestSpec): readonly Refusal[] => {
  const { ca } = authentication?.oidc ?? {};
  const reason = ca === undefined ? undefined : certificateFault(ca);
  return reason === undefined ? [] : [refuse('cluster.oidc-ca', { reason }, 'spec.authentication.oidc.ca')];
};
