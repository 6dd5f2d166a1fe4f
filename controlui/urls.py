"""Every address, by the app that answers it."""

from django.urls import include, path

urlpatterns = [
    path("api/", include("controlui.api.urls")),
    path("", include("controlui.ops.urls")),
    path("", include("controlui.pages.urls")),
]

handler400 = "controlui.pages.views.errors.bad_request"
handler404 = "controlui.pages.views.errors.not_found"
handler403 = "controlui.pages.views.errors.forbidden"
handler500 = "controlui.pages.views.errors.server_error"
