/** `GET /access/explain` and `GET /access/who`. */

export interface Named {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
}

export interface Grant {
  readonly via: 'binding' | 'object' | 'builtin';
  readonly subject?: Subject;
  readonly binding?: Named;
  readonly role?: Named;
  /** The rule of the role, or the name of the access rule of the object. */
  readonly rule?: string | PolicyRule;
  readonly object?: Named;
}

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface AccessExplanation {
  readonly subject: {
    readonly name: string;
    readonly groups: readonly string[];
    readonly key?: string;
  };
  readonly allowed: boolean;
  readonly reason?: string;
  readonly grants: readonly Grant[];
  readonly hidden: number;
  readonly scope?: { readonly allows: boolean };
}

export interface AccessList {
  readonly items: readonly {
    readonly subject: Subject;
    readonly team?: string;
    readonly members?: readonly string[];
    readonly memberCount?: number;
    readonly memberGroups?: readonly string[];
    readonly grants: readonly Grant[];
  }[];
  readonly hidden: number;
  readonly left?: number;
}
