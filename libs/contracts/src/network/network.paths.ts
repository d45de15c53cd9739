/** Paths of the network configuration on a node's host. */
export const NETWORK_PATHS = {
  firewall: {
    /** Loaded at boot, and when a change is reverted. */
    confirmed: '/var/lib/fairlead/firewall/confirmed.nft',
    /** Exists from before a change until it is confirmed or reverted. */
    trial: '/var/lib/fairlead/firewall/trial.nft',
    reverted: '/var/lib/fairlead/firewall/reverted.nft',
    /** nft's listing after the confirmed rules were loaded. */
    listed: '/var/lib/fairlead/firewall/listed.nft',
    undo: '/opt/fairlead/firewall-undo',
    unit: '/etc/systemd/system/fairlead-firewall.service',
  },
  /** Addresses from which Fairlead has connected by SSH, one per line, latest last. */
  sshClients: '/etc/fairlead/ssh-clients',
  sshd: '/etc/ssh/sshd_config.d/00-fairlead.conf',
} as const;

/** Fairlead's table; those of kube-proxy, of CNIs and of the host's owner are not touched. */
export const NFT_TABLE = 'inet fairlead';
export const FIREWALL_UNIT = 'fairlead-firewall.service';
/** The timer that reverts a change. */
export const FIREWALL_UNDO_UNIT = 'fairlead-firewall-undo';
/** Only this many of the latest addresses of Fairlead are used. */
export const SSH_CLIENTS_MAX = 16;
