"""Settings, all from the environment (design section 5); docs/operations.md lists them."""

import os
import secrets
from pathlib import Path
from typing import Any

import dj_database_url
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("CONTROLUI_DATA", BASE_DIR / "var")).resolve()
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)


def kept_secret(name: str) -> str:
    """The secret from the environment, else one made once and kept under DATA_DIR, mode 0600."""
    if name in os.environ:
        return os.environ[name]
    path = DATA_DIR / name.lower()
    try:
        # O_EXCL: of two processes starting at once, one writes and the other reads.
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(fd, "w") as file:
        value = secrets.token_urlsafe(48)
        file.write(value)
    return value


def flag(name: str, default: bool = False) -> bool:
    """Whether the environment switches NAME on (1, true, yes, on)."""
    return os.environ.get(name, str(int(default))).strip().lower() in {"1", "true", "yes", "on"}


def words(name: str, default: str = "") -> list[str]:
    """The comma-separated words of an environment variable."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


SECRET_KEY = kept_secret("SECRET_KEY")
DEBUG = flag("DEBUG")
PUBLIC_URL = os.environ.get("PUBLIC_URL", "").rstrip("/")
ALLOWED_HOSTS = words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "controlui.chat",
    "outbox",
    "questions",
    "controlui.api",
    "controlui.pages",
    "controlui.ops",
]

MIDDLEWARE = [
    "controlui.errors.HonestErrorsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "controlui.ops.bundles.StaticFilesMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "controlui.urls"
ASGI_APPLICATION = "controlui.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
        },
    }
]

# -- data -----------------------------------------------------------------------------------------
DATABASE_URL = os.environ.get("DATABASE_URL", "")
REDIS_URL = os.environ.get("REDIS_URL", "")
# NORMAL survives any kill of the process; FULL also survives a loss of power (design section 4).
SQLITE_SYNCHRONOUS = os.environ.get("SQLITE_SYNCHRONOUS", "NORMAL").upper()


def database() -> dict[str, Any]:
    """The one database: SQLite tuned for many short writers, or PostgreSQL behind a psycopg pool."""
    if not DATABASE_URL:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "controlui.sqlite3",
            # A real file for tests too: threads meet in it as requests do in production.
            "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
            # Kept by each thread: opening the file costs more than most of what is read from it.
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                # IMMEDIATE: a transaction that reads before it writes takes its turn at BEGIN,
                # instead of failing with "locked" in the middle (bugs case 105).
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": (
                    f"PRAGMA journal_mode=WAL; PRAGMA synchronous={SQLITE_SYNCHRONOUS};"
                    "PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY;"
                ),
            },
        }
    config: dict[str, Any] = {**dj_database_url.parse(DATABASE_URL)}
    if "postgresql" in config["ENGINE"]:
        options = {**config.get("OPTIONS", {})}
        # Persistent connections ran out under ASGI (design section 4); the pool is per process.
        options["pool"] = {"min_size": 1, "max_size": int(os.environ.get("DATABASE_POOL", "16")), "timeout": 10}
        config |= {"OPTIONS": options, "CONN_MAX_AGE": 0}
    return config


DATABASES = {"default": database()}
# Requests that work at once in one process; more wait for their turn (waits and open pages need none).
WEB_THREADS = int(os.environ.get("WEB_THREADS", "8"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if REDIS_URL:
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": os.environ.get("REDIS_PREFIX", "controlui")},
        }
    }
    CACHES: dict[str, Any] = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": os.environ.get("REDIS_PREFIX", "controlui"),
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# -- people ---------------------------------------------------------------------------------------
AUTH_USER_MODEL = "chat.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
SESSION_ENGINE = "controlui.chat.sessions"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_NAME = os.environ.get("SESSION_COOKIE_NAME", "controlui_session")
CSRF_COOKIE_NAME = os.environ.get("CSRF_COOKIE_NAME", "controlui_csrf")
CSRF_FAILURE_VIEW = "controlui.pages.views.sign_in.session_changed"

# -- the wire -------------------------------------------------------------------------------------
BEHIND_TLS = flag("BEHIND_TLS", PUBLIC_URL.startswith("https://"))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
MAX_ASK_BYTES = 256 * 1024
MAX_FORM_BYTES = 512 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_FORM_BYTES

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["controlui.rest.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["controlui.rest.permissions.IsKnownActor"],
    "DEFAULT_PARSER_CLASSES": ["controlui.rest.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "controlui.rest.errors.as_response",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_THROTTLE_RATES": {
        "agent": os.environ.get("THROTTLE_AGENT", "12000/min"),
        "ask": os.environ.get("THROTTLE_ASK", "3000/min"),
        "person": os.environ.get("THROTTLE_PERSON", "1200/min"),
        "anonymous": os.environ.get("THROTTLE_ANONYMOUS", "120/min"),
    },
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Control UI",
    "DESCRIPTION": "Ask a person something, and get exactly that answer, once.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
}

# -- words, files, logs ---------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "controlui_language"
TIME_ZONE = os.environ.get("TIME_ZONE", "UTC")
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Only our own files: DRF's and others' would be collected and hashed for nobody.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "controlui.ops.bundles.BundledStaticFilesStorage"},
}

# A conversation holds no more pending prompts than this; a further ask is told so (bugs case 108).
PENDING_PER_CONVERSATION = int(os.environ.get("PENDING_PER_CONVERSATION", "1000"))

# Webhooks: so many are called at once in one process; private addresses only where this allows it.
WEBHOOK_SENDERS = int(os.environ.get("WEBHOOK_SENDERS", "16"))
WEBHOOK_PRIVATE = flag("WEBHOOK_PRIVATE")

# Template that stands in the composer's slot; the dock stays whole whatever it is (design section 6).
COMPOSER_TEMPLATE = os.environ.get("COMPOSER_TEMPLATE", "pages/_composer.html")
# Seconds added to the server's clock, read from this file at each use. For tests that move time in a
# real server process; unset in production.
CLOCK_OFFSET_FILE = os.environ.get("CONTROLUI_CLOCK_OFFSET_FILE", "")

LOG_LEVEL = os.environ.get("LOG_LEVEL", "INFO").upper()
LOG_FORMAT = os.environ.get("LOG_FORMAT", "console")
LOGGING_CONFIG = "controlui.ops.logs.configure"
LOGGING: dict[str, Any] = {"level": LOG_LEVEL, "format": LOG_FORMAT}
# One line per request, from the server that `up` runs.
ACCESS_LOG = flag("ACCESS_LOG")
