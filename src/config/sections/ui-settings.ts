/**
 * A part of the configuration, with defaults.
 * Generated from schemas/ui-settings.json by `npx tsx scripts/docs.ts`.
 */
/** Look of the user interface. */
export interface UISettingsConfig {
  /** Logo. Browsers must be able to load it. */
  readonly logoURL?: string;
  /** Icon of the page. Browsers must be able to load it. */
  readonly faviconURL?: string;
  /** Small logo. Browsers must be able to load it. */
  readonly smallLogoURL?: string;
  /** Background of the logo, as a CSS color value. */
  readonly logoBackgroundColor?: string;
  /** HTML that people see when they sign in. */
  readonly legalTemplate?: string;
  /** Primary color, as a CSS color value. */
  readonly primaryColor?: string;
  /** Color of the sidebar, as a CSS color value. */
  readonly sidebarColor?: string;
  /** Accent color, as a CSS color value. */
  readonly accentColor?: string;
  /** URLs of further CSS files. */
  readonly customCss?: readonly string[];
  /** URLs of further JavaScript files. */
  readonly customJavaScript?: readonly string[];
  /** Further buttons of the navigation bar. */
  readonly navBarButtons?: readonly {
    /** Position of the button. */
    readonly position: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
    /** Text on the button. */
    readonly text?: string;
    /** Target of the button. */
    readonly link?: string;
    /** URL of an icon. */
    readonly icon?: string;
  }[];
  /** External addresses that the user interface may load. */
  readonly externalURLs?: {
    /** If true, requests of the user interface to other hosts are blocked. */
    readonly block?: boolean;
    /** URLs, or the names of prepared modules (features and licenses, tag manager, changelog), that may be called all the same. Only matters when `block` is true. */
    readonly allow?: readonly string[];
  };
}
