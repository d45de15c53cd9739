/** What an error of AWS means, by its code. */
export interface Verdict {
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** What the operator can do; undefined: the words of AWS say it. */
  readonly advice?: string;
}

/** An error of a service, or of a proxy in front of it. */
export interface AwsError {
  /** E.g. `InsufficientInstanceCapacity`, never with `Exception` at its end; empty: not an answer of AWS. */
  readonly code: string;
  readonly status: number;
}

const TOO_MANY = 429;
const SERVER_ERROR_FIRST = 500;
const CLIENT_ERROR_FIRST = 400;

/** Nothing was done, so that even a creation may be sent again. */
const THROTTLED: ReadonlySet<string> = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'Throttled',
  'RequestThrottled',
  'TooManyRequests',
  'SlowDown',
]);

const LATER: Verdict = { retryable: true };
const NEVER: Verdict = { retryable: false };

const NO_CAPACITY: Verdict = {
  retryable: true,
  advice: 'another instance type or zone may have room, and spot instances need more of it than others',
};
const QUOTA: Verdict = {
  retryable: false,
  advice: 'a higher quota of the account is requested from AWS in Service Quotas',
};
const CREDENTIALS: Verdict = { retryable: false, advice: 'is the access key active, and is the secret its own?' };
const POLICY: Verdict = { retryable: false, advice: 'the policy in docs/aws.md has every action that is needed' };

const VERDICTS: Readonly<Record<string, Verdict>> = {
  InsufficientInstanceCapacity: NO_CAPACITY,
  InsufficientHostCapacity: NO_CAPACITY,
  InsufficientCapacity: NO_CAPACITY,
  InsufficientFreeAddressesInSubnet: { retryable: false, advice: 'larger subnets, or another zone, have room' },
  SpotMaxPriceTooLow: LATER,
  VcpuLimitExceeded: QUOTA,
  InstanceLimitExceeded: QUOTA,
  MaxSpotInstanceCountExceeded: QUOTA,
  VolumeLimitExceeded: QUOTA,
  AddressLimitExceeded: QUOTA,
  VpcLimitExceeded: QUOTA,
  SubnetLimitExceeded: QUOTA,
  InternetGatewayLimitExceeded: QUOTA,
  SecurityGroupLimitExceeded: QUOTA,
  RulesPerSecurityGroupLimitExceeded: QUOTA,
  ResourceCountExceeded: QUOTA,
  TooManyLoadBalancers: QUOTA,
  TooManyTargetGroups: QUOTA,
  PendingVerification: { retryable: true, advice: 'AWS is still verifying the account' },
  CredentialsProviderError: { retryable: true, advice: 'the host of infra-svc has no role of AWS' },
  AuthFailure: CREDENTIALS,
  InvalidClientTokenId: CREDENTIALS,
  SignatureDoesNotMatch: CREDENTIALS,
  UnrecognizedClient: CREDENTIALS,
  ExpiredToken: CREDENTIALS,
  RequestExpired: { retryable: true, advice: 'the clock of this machine may be wrong' },
  UnauthorizedOperation: POLICY,
  AccessDenied: POLICY,
  // Not visible yet, or not gone yet.
  'InvalidPermission.Duplicate': LATER,
  DependencyViolation: LATER,
  ResourceInUse: LATER,
  IncorrectInstanceState: LATER,
  IncorrectState: LATER,
  OperationNotPermitted: LATER,
  IdempotentParameterMismatch: { retryable: true, advice: 'the instance was requested already, and will be shown' },
  InvalidTarget: LATER,
};

/** Another zone may have what this one has not. */
const OF_THE_ZONE: ReadonlySet<string> = new Set([
  'InsufficientInstanceCapacity',
  'InsufficientFreeAddressesInSubnet',
  'Unsupported',
]);

export const isThrottled = ({ code, status }: AwsError): boolean => THROTTLED.has(code) || status === TOO_MANY;

/** A server error after which it is unknown whether the call was carried out. */
export const isTransient = ({ code, status }: AwsError): boolean =>
  status >= SERVER_ERROR_FIRST && VERDICTS[code] === undefined;

export const isOfZone = ({ code }: AwsError): boolean => OF_THE_ZONE.has(code);

/** What does not exist, or not yet everywhere: EC2 shows new resources with a delay. */
export const isNotFound = ({ code }: AwsError): boolean =>
  /\.NotFound$|^(?:LoadBalancer|TargetGroup|Listener)NotFound$/.test(code);

export const verdictOf = (error: AwsError): Verdict => {
  const known = VERDICTS[error.code];
  if (known !== undefined) return known;
  if (isThrottled(error) || isNotFound(error)) return LATER;
  return error.status >= CLIENT_ERROR_FIRST && error.status < SERVER_ERROR_FIRST ? NEVER : LATER;
};

/** Only AWS can decode it, it is long, and it describes the account. */
const ENCODED = /Encoded authorization failure message: \S*/;
const READ_MAX = 8_192;
const WORDS_MAX = 1_000;

/** One sentence: the words of AWS, who said them, and what to do. */
export const sentenceOf = (
  error: AwsError & { readonly words: string; readonly service: string; readonly action: string },
): string => {
  const { code, status, service, action } = error;
  const words = error.words.slice(0, READ_MAX).replace(ENCODED, '').trim().slice(0, WORDS_MAX);
  const said = words === '' ? `it answers ${action} without a reason` : words;
  const by = [service, action, ...(status === 0 ? [] : [`HTTP ${status}`]), ...(code === '' ? [] : [code])].join(', ');
  const { advice } = verdictOf(error);
  return `${said} (${by})${advice === undefined ? '' : `; ${advice}`}`;
};
